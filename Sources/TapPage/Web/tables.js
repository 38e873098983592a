// Figures, tables, and where the time goes. What comes from the exposition or the log enters the document as text only, never as
// markup.
"use strict";

// A cell is a text, a number's text in a list of its own, or an element.
function cellOf(cell) {
  const node = element("td", Array.isArray(cell) ? { class: "number" } : {});
  node.append(...[cell].flat().map(one => one instanceof Node ? one : String(one)));
  return node;
}

function fill(id, rows, none) {
  const columns = $(id).parentElement.querySelectorAll("thead th").length;
  $(id).replaceChildren(...(rows.length ? rows.map(({ cells, attributes }) => {
    const row = element("tr", attributes);
    row.append(...cells.map(cellOf));
    return row;
  }) : [element("tr")]));
  if (!rows.length) $(id).firstChild.append(element("td", { colspan: columns, class: "none" }, none));
}

function grouped(list, bounds, keyOf, start) {
  const groups = new Map();
  for (const one of list) {
    const key = keyOf(one);
    if (!groups.has(key)) groups.set(key, { ...start(one), numbers: nothing(bounds) });
    add(groups.get(key).numbers, one.numbers);
  }
  return [...groups.values()];
}

function figures(choice) {
  figuresOf("made", choice, [...known.active.values()].filter(choice.has));
  figuresOf("served", ALL, [...known.serving.values()]);
}

function figuresOf(name, choice, gauges) {
  const { series, bounds } = known[name], total = nothing(bounds);
  for (const one of series.values()) if (choice.has(one.party)) add(total, one.numbers);
  $(`${name}-requests`).textContent = number(total[COUNT]);
  $(`${name}-errors`).textContent = total[ERRORS] ? `${number(total[ERRORS])} (${percent(share(total))})` : "0";
  $(`${name}-active`).textContent = number(gauges.reduce((sum, one) => sum + one.value, 0));
  for (const [id, q] of [["p50", .5], ["p90", .9], ["p99", .99]]) $(`${name}-${id}`).textContent = quantileText(q, total, bounds);
}

// The parties of one side that had requests in the last minutes, those with the most first.
function recent(name, choice) {
  const list = known.steps.flatMap(step => [...step[name].values()].filter(choice.has));
  return grouped(list, known[name].bounds, one => one.key, one => one).sort((a, b) => b.numbers[COUNT] - a.numbers[COUNT]);
}

const covered = () => known.steps.length ? (known.time - known.steps[0].from) / 1000 : 1;

function parties(choice) {
  const active = new Map(), { bounds } = known.made;
  for (const one of known.active.values()) active.set(one.key, (active.get(one.key) || 0) + one.value);
  fill("parties", recent("made", choice).slice(0, 10).map(({ client, host, key, numbers }) => ({ cells: [client || "–", host || "–",
    [number(numbers[COUNT] / covered())], [percent(share(numbers))], [quantileText(.5, numbers, bounds)],
    [quantileText(.99, numbers, bounds)], [number(active.get(key) || 0)]] })), "No request has ended in these minutes.");
}

function routes() {
  fill("routes", recent("served", ALL).slice(0, 20).map(({ method, route, numbers }) => ({ cells: [method || "–", route || "–",
    [number(numbers[COUNT] / covered())], [percent(share(numbers))], [seconds(numbers[SUM] / numbers[COUNT])],
    [quantileText(.99, numbers, known.served.bounds)]] })), "No request has ended in these minutes.");
}

function slowest(choice) {
  const { series, bounds } = known.made;
  const list = grouped([...series.values()].filter(one => choice.has(one.party)), bounds,
    ({ party, labels }) => JSON.stringify([party.key, labels.http_request_method, labels.url_template]),
    ({ party, labels }) => ({ ...party, method: labels.http_request_method, template: labels.url_template }));
  for (const one of list) one.p99 = quantile(.99, one.numbers, bounds);
  list.sort((a, b) => b.p99 - a.p99 || b.numbers[COUNT] - a.numbers[COUNT]);
  fill("slowest", list.slice(0, 10).map(one => ({ cells: [
    one.method || "–", one.template || "–", one.host || "–", one.client || "–",
    [number(one.numbers[COUNT])], [number(one.numbers[ERRORS])], [seconds(one.numbers[SUM] / one.numbers[COUNT])],
    [quantileText(.99, one.numbers, bounds)]] })), "No request has ended yet.");
}

// What the charts show, for those who do not see them. Only if it is open.
function numbers(choice) {
  if (!$("numbers").open) return;
  numbersOf("made", choice);
  numbersOf("served", ALL);
}

function numbersOf(name, choice) {
  const { bounds } = known[name], rows = [], all = nothing(bounds), part = 30000;
  for (let end = known.time; end > known.time - WINDOW && known.steps.some(step => step.to <= end); end -= part) {
    const steps = known.steps.filter(step => step.to <= end && step.to > end - part);
    const sum = steps.reduce((sum, step) => add(sum, sumOf(step, name, choice)), nothing(bounds));
    const time = steps.reduce((time, step) => time + step.to - step.from, 0) / 1000;
    add(all, sum);
    rows.push({ cells: [end === known.time ? "now" : `${(known.time - end) / 1000} s ago`, [time ? number(sum[COUNT] / time) : "–"],
      [percent(share(sum))], ...[.5, .9, .99].map(q => [quantileText(q, sum, bounds)])] });
  }
  fill(`${name}-by-time`, rows, "No scrape yet.");
  fill(`${name}-by-bucket`, bounds.map((bound, i) => ({ cells: [
    bound === Infinity ? `over ${seconds(bounds[i - 1])}` : `up to ${seconds(bound)}`, [number(all[BUCKETS + i])]] })), "No scrape yet.");
}

const PHASES = ["queue", "resolve", "connect", "tls", "upload", "processing", "transfer", "local"];

// By client and host, those with the most time first. A request is known by its duration; a phase may be unknown.
function phaseGroups(choice) {
  const groups = new Map();
  const groupOf = ({ key, client, host }) => {
    if (!groups.has(key)) {
      groups.set(key, { client: client || "–", host: host || "–", phases: new Map(), opened: NaN, trips: 0, tripTime: 0, sentAgain: 0,
        requests: 0, connected: 0, time: 0 });
    }
    return groups.get(key);
  };
  for (const one of known.phases.values()) {
    if (!choice.has(one)) continue;
    const { phases } = groupOf(one);
    phases.set(one.phase, add(phases.get(one.phase) || nothing(known.phaseBounds), one.value));
  }
  for (const one of known.opened.values()) {
    if (!choice.has(one)) continue;
    const group = groupOf(one);
    group.opened = (group.opened || 0) + one.value;
  }
  for (const one of known.roundTrips.values()) {
    if (!choice.has(one)) continue;
    const group = groupOf(one);
    group.trips += one.value[COUNT];
    group.tripTime += one.value[SUM];
  }
  for (const one of known.sentAgain.values()) {
    if (choice.has(one)) groupOf(one).sentAgain += one.value;
  }
  for (const { party, labels, numbers } of known.made.series.values()) {
    const group = groups.get(party.key);
    if (!group || labels.cache === "hit") continue;
    group.requests += numbers[COUNT];
    group.time += numbers[SUM];
    if (!/^(connect|dns|tls)$/.test(labels.error_type)) group.connected += numbers[COUNT];
  }
  return [...groups.values()].filter(group => group.requests).sort((a, b) => b.time - a.time);
}

// The phases of a group in their order, and what is left of its time.
function piecesOf({ phases, time }) {
  const pieces = PHASES.filter(name => phases.has(name)).map(name => ({ name, time: phases.get(name)[SUM] }));
  const rest = time - pieces.reduce((sum, piece) => sum + piece.time, 0);
  return rest > time / 200 ? [...pieces, { name: "unknown", time: rest }] : pieces;
}

// A bar, and the same in words for those who do not see it.
function phaseItem(group) {
  const item = element("li"), title = element("p"), bar = element("div", { class: "bar", "aria-hidden": "true" }), words = element("p");
  const facts = element("span", { class: "now" }), { requests, connected, opened, trips, sentAgain, time } = group;
  facts.append(element("b", {}, `${seconds(time / requests)} mean`),
    element("span", {}, `${number(requests)} ${requests === 1 ? "request" : "requests"}`));
  const reused = connected ? Math.max(0, 1 - opened / connected) : NaN;
  if (Number.isFinite(reused)) facts.append(element("span", {}, `${percent(reused)} on a reused connection`));
  // Beside processing: far more than one round trip is the server's work.
  if (trips) facts.append(element("span", {}, `${seconds(group.tripTime / trips)} round trip`));
  if (sentAgain) facts.append(element("span", {}, `${number(sentAgain)} ${sentAgain === 1 ? "segment" : "segments"} sent again`));
  title.append(element("b", {}, `${group.client} → ${group.host}`), facts);
  for (const piece of piecesOf(group)) {
    const mean = seconds(piece.time / requests), part = time ? piece.time / time : 0;
    const node = element("span", { class: piece.name, title: `${piece.name} ${mean}, ${percent(part)}` });
    node.style.flexGrow = 100 * part;
    bar.append(node);
    words.append(element("span", { class: `phase ${piece.name}` }, `${piece.name} ${mean}`));
  }
  item.append(title, bar, words);
  return item;
}

function phases(choice) {
  const all = phaseGroups(choice), groups = all.slice(0, 10), isKnown = all.some(({ phases }) => phases.size);
  $("phases-part").hidden = ![...known.made.series.values()].some(one => choice.has(one.party));
  $("phases-none").hidden = isKnown;
  $("phases-there").hidden = !isKnown;
  $("phases").replaceChildren(...groups.map(phaseItem));
  if (!$("phase-numbers").open) return;
  fill("by-phase", groups.flatMap(({ client, host, phases }) => PHASES.filter(name => phases.has(name)).map(name => {
    const numbers = phases.get(name);
    return { cells: [client, host, name, [number(numbers[COUNT])], [seconds(numbers[SUM] / numbers[COUNT])],
      [quantileText(.99, numbers, known.phaseBounds)]] };
  })), "");
}

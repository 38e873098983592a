// Figures and tables: what each row says, what a click on it chooses, and by which columns it is sorted.
"use strict";

const TYPES = { timeout: "no whole answer in time", dns: "the host's name cannot be resolved",
  connect: "no connection can be made",
  connection_lost: "the connection broke", tls: "no TLS with this server, or not with its certificate",
  too_many_redirects: "redirected too often", body: "a body cannot be read or decoded",
    unsupported_url: "no loader takes such a URL" };
const CODES = { 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 429: "Too Many Requests",
  500: "Internal Server Error",
  502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout" };
const failureText = failure => CODES[failure] ? `${failure} ${CODES[failure]}` : TYPES[failure]
  ? `${failure}: ${TYPES[failure]}` : failure;

const shownOr = text => text || "–";
const filterBy = ({ side, client, host, path }) => choose({ side, client, host, path });
const SERVER = [{ name: "Client", of: one => shownOr(one.client) }, { name: "Host", of: one => shownOr(one.host) }];
const REQUESTS = { name: "Requests", of: one => one.numbers[COUNT], as: number };
const RATE = { name: "Requests/s", of: one => one.numbers[COUNT] / covered(), as: number };
const MEAN = { name: "Mean", of: one => one.numbers[SUM] / one.numbers[COUNT], as: seconds };
const [ERROR_SHARE, REFUSED_SHARE] = [["Errors", ERRORS], ["4xx", REFUSED]].map(([name, place]) =>
  ({ name, of: one => share(one.numbers, place), as: percent }));
const [P50, P90, P99] = [.5, .9, .99].map(q => ({ name: `p${100 * q}`, of: one => quantile(q, one.numbers, one.bounds),
  as: (value, one) => quantileText(q, one.numbers, one.bounds) }));

// A column has a value, by which it is sorted, and a text of it: `as` makes it a column of numbers, `act` one of buttons.
// A click elsewhere in a row acts as the row's first button.
const TABLES = {
  failures: { none: "Nothing has failed in these minutes.", columns: [
    { name: "Failure", of: one => failureText(one.failure), act: one => choose({ ...filtersOf(one.party), only: one.failure }) },
    { name: "Kind", of: one => one.party.side }, { name: "Client", of: one => shownOr(one.party.client) },
    { name: "Host", of: one => shownOr(one.party.host) }, { name: "Path", of: one => shownOr(one.party.path) },
    { name: "Requests", of: one => one.count, as: number },
    { name: "Newest line", of: one => one.line ? clockOf(one.line) : "", act: one => openLine(one.line) }] },
  slowest: { limit: 10, none: "No request has ended yet.", columns: [
    { name: "Path", of: one => shownOr(one.path), act: filterBy }, { name: "Method", of: one => shownOr(one.method) },
      SERVER[1], SERVER[0], REQUESTS,
    ERROR_SHARE, REFUSED_SHARE, MEAN, P99] },
  parties: { limit: 10, none: "No request has ended in these minutes.", columns: [
    { ...SERVER[0], act: one => filterBy({ ...one, path: "" }) }, SERVER[1], RATE, ERROR_SHARE, REFUSED_SHARE, P50, P99,
    { name: "In flight", of: one => one.active, as: number }] },
  routes: { none: "No request has ended in these minutes.", columns: [
    { name: "Route", of: one => shownOr(one.path), act: filterBy }, { name: "Method", of: one => shownOr(one.method) }, RATE,
      ERROR_SHARE, REFUSED_SHARE,
    MEAN, P99] },
  "by-phase": { limit: 100, none: "No phase is known.",
    columns: [...SERVER, { name: "Phase", of: one => one.phase }, REQUESTS, MEAN, P99] },
  lines: { limit: 50, none: "No line is like this.", columns: [
    { name: "Time", of: line => clockOf(line) || "–", act: line => openLine(line) },
    { name: "Severity", of: line => line.of("severity") }, { name: "Kind", of: kindOf },
      { name: "Client", of: line => line.of("client") },
    { name: "Request", of: requestOf }, { name: "Status", of: statusOf },
    { name: "Duration", of: line => line.seconds, as: value => value === undefined ? "" : seconds(value) },
    { name: "Trace", of: line => line.trace.slice(0, 8), act: line => line.trace
      && choose({ request: "", trace: line.trace }) }] },
};
for (const side of SIDES) {
  TABLES[`${side}-by-time`] = { caption: `Requests ${side}, by time`, none: "No scrape yet.", columns: [
    { name: "When", of: one => one.age, as: (age, one) => clock(one.to) }, { ...RATE, of: one => one.rate }, ERROR_SHARE,
      REFUSED_SHARE, P50, P90, P99] };
  TABLES[`${side}-by-bucket`] = { caption: `Requests ${side}, by latency`, limit: 300, none: "No scrape yet.", columns: [
    { name: "Latency", of: one => one.bound, as: (bound, one) => one.name },
      { name: "Requests", of: one => one.count, as: number }] };
}

const filtersOf = ({ side, client, host, path }) => ({ side, client, host, path });
const clockOf = line => line.of("timestamp").slice(11, 23);
function kindOf({ of, party }) { return of("event").endsWith(".waiting") ? "waits" : party.side; }
function statusOf({ of }) { return of("http.response.status_code") || of("error.type") || of("outcome"); }

// What a table is sorted by, and what its rows are of.
const sorts = {}, subjects = new WeakMap();

function makeTable(id) {
  const { columns, caption } = TABLES[id], heads = element("tr"), body = element("tbody", { id });
  columns.forEach((column, i) => {
    const button = element("button", { type: "button" }, column.name);
    button.addEventListener("click", () => sort(id, i));
    heads.append(element("th", { scope: "col", class: column.as ? "number" : "" }, button));
  });
  body.addEventListener("click", event => act(event, columns));
  const title = element("caption", { id: `${id}-caption`, class: caption ? "" : "unseen" }, caption
    || $(`${id}-title`).textContent);
  return element("div", { class: "scroll", tabindex: 0, role: "region", "aria-labelledby": `${id}-caption` },
    element("table", {}, title, element("thead", {}, heads), body));
}

// First the largest number or the first text, then the other way round, then as before.
function sort(id, index) {
  const first = TABLES[id].columns[index].as ? -1 : 1, before = sorts[id]?.index === index ? sorts[id].sign : 0;
  sorts[id] = before === -first ? undefined : { index, sign: before ? -first : first };
  [...$(id).previousSibling.rows[0].cells].forEach((head, i) => {
    if (sorts[id]?.index !== i) head.removeAttribute("aria-sort");
    else head.setAttribute("aria-sort", sorts[id].sign > 0 ? "ascending" : "descending");
  });
  draw();
}

function sorted(id, list) {
  if (!sorts[id]) return list;
  const { index, sign } = sorts[id], { of, as } = TABLES[id].columns[index];
  // What has no number is last, whichever way.
  const less = as ? (a, b) => (of(a) ?? -sign * Infinity) - (of(b) ?? -sign * Infinity) || 0
    : (a, b) => of(a).localeCompare(of(b));
  return [...list].sort((a, b) => sign * less(a, b));
}

// A click that ends a selection of text is none.
function act(event, columns) {
  const one = subjects.get(event.target.closest("tr")), button = event.target.closest("button");
  if (!one || !button && String(getSelection())) return;
  const column = columns[event.target.closest("td").cellIndex];
  (button ? column : columns.find(column => column.act))?.act(one);
}

function makeRow(columns) {
  return element("tr", {}, ...columns.map(({ name, as, act }) => {
    const cell = element("td", { class: as ? "number" : "", "data-name": name });
    if (act) cell.append(element("button", { type: "button", class: "link" }));
    return cell;
  }));
}

// A row that stays keeps its elements: a click, the focus and a selection outlast a drawing.
function fill(id, list) {
  const { columns, limit = 20, none } = TABLES[id], body = $(id),
    there = new Map([...body.rows].map(row => [row.dataset.key, row]));
  const rows = sorted(id, list).slice(0, limit).map(one => {
    const row = there.get(one.key) || makeRow(columns);
    there.delete(one.key);
    row.dataset.key = one.key;
    row.className = one.of?.("severity").match(/^(WARN|ERROR)$/)?.[0] || "";
    subjects.set(row, one);
    columns.forEach(({ of, as, act }, i) => {
      const value = of(one), text = as ? as(value, one) : value, cell = row.cells[i];
      setText(act ? cell.firstChild : cell, text);
      if (act) cell.firstChild.hidden = !text;
    });
    return row;
  });
  if (!rows.length) {
    rows.push(there.get("none") || element("tr", { "data-key": "none" },
      element("td", { colspan: columns.length, class: "none" }, none)));
    there.delete("none");
  }
  for (const row of there.values()) row.remove();
  rows.forEach((row, i) => { if (body.rows[i] !== row) body.insertBefore(row, body.rows[i] || null); });
}

function grouped(list, bounds, keyOf, start) {
  const groups = new Map();
  for (const one of list) {
    const key = keyOf(one);
    if (!groups.has(key)) groups.set(key, { ...start(one), key, bounds, numbers: nothing(bounds) });
    add(groups.get(key).numbers, one.numbers);
  }
  return [...groups.values()].sort((a, b) => b.numbers[COUNT] - a.numbers[COUNT]);
}

const FIGURES = { requests: "Requests", errors: "Errors", refused: "4xx", active: "In flight", p50: "p50", p90: "p90",
  p99: "p99" };
// Said where it stands: what counts as an error.
const ERROR_WORDS = { made: "Errors: no whole response, or 5xx", served: "Errors: 5xx, or broken off" };

const makeFigures = side => element("dl", {}, ...Object.entries(FIGURES).map(([name, words]) => element("div", {},
  element("dt", {}, name === "requests" ? `Requests ${side}` : name === "errors" ? ERROR_WORDS[side] : words),
    element("dd", { id: `${side}-${name}` }, "–"))));

const partCount = (numbers, place) => numbers[place] ? `${number(numbers[place])} (${percent(share(numbers, place))})` : "0";

function figures() {
  for (const [side, gauges] of [["made", known.active], ["served", known.serving]]) {
    const { series, bounds } = known[side], total = nothing(bounds), set = (name, text) => setText($(`${side}-${name}`), text);
    for (const one of series.values()) if (isChosen(one.party)) add(total, one.numbers);
    set("requests", number(total[COUNT]));
    set("errors", partCount(total, ERRORS));
    set("refused", partCount(total, REFUSED));
    set("active", chosen.path ? "–" : number([...gauges.values()].filter(isChosen).reduce((sum, one) => sum + one.value, 0)));
    for (const [name, q] of [["p50", .5], ["p90", .9], ["p99", .99]]) set(name, quantileText(q, total, bounds));
  }
}

// The parties of one side that had requests in these minutes, those with the most first.
function recent(side, keyOf) {
  const list = drawn.steps.flatMap(step => [...step[side].values()].filter(isChosen));
  return grouped(list, known[side].bounds, keyOf, one => one);
}

const covered = () => drawn.steps.length ? (known.time - drawn.steps[0].from) / 1000 : 1;
const serverKey = ({ client, host }) => JSON.stringify([client, host]);

function parties() {
  const active = new Map();
  for (const one of known.active.values()) active.set(serverKey(one), (active.get(serverKey(one)) || 0) + one.value);
  fill("parties", recent("made", serverKey).map(one => ({ ...one, active: active.get(one.key) || 0 })));
  fill("routes", recent("served", one => one.key));
}

function failures() {
  const all = new Map(), newest = newestFailures();
  for (const step of drawn.steps) {
    for (const one of step.failures.values()) {
      if (!isChosen(one.party)) continue;
      const before = all.get(one.key);
      all.set(one.key, { ...one, count: one.count + (before ? before.count : 0), line: newest.get(one.key) });
    }
  }
  fill("failures", [...all.values()].sort((a, b) => b.count - a.count));
}

function slowest() {
  const { series, bounds } = known.made;
  const list = grouped([...series.values()].filter(one => isChosen(one.party)), bounds,
    ({ party, labels }) => party.key + labels.http_request_method,
      ({ party, labels }) => ({ ...party, method: labels.http_request_method }));
  for (const one of list) one.p99 = quantile(.99, one.numbers, bounds);
  fill("slowest", list.sort((a, b) => b.p99 - a.p99 || b.numbers[COUNT] - a.numbers[COUNT]));
}

// What the charts show, for those who do not see them. Only if it is open.
function numbers() {
  if ($("numbers").open) for (const side of SIDES) numbersOf(side);
}

function numbersOf(side) {
  const { bounds } = known[side], rows = [], all = nothing(bounds), part = 30000;
  for (let to = known.time; drawn.steps.some(step => step.to <= to); to -= part) {
    const steps = drawn.steps.filter(step => step.to <= to && step.to > to - part);
    const numbers = steps.reduce((sum, step) => add(sum, sumOf(step, side)), nothing(bounds));
    const time = steps.reduce((time, step) => time + step.to - step.from, 0);
    add(all, numbers);
    rows.push({ key: String(rows.length), age: known.time - to, to, rate: time ? numbers[COUNT] * 1000 / time : NaN, numbers,
      bounds });
  }
  fill(`${side}-by-time`, rows);
  fill(`${side}-by-bucket`, bounds.map((bound, i) =>
    ({ key: String(bound), bound, name: bucketName(bounds, i), count: all[BUCKETS + i] })));
}

function found() {
  if (!hasLog) return;
  const lines = foundLines();
  fill("lines", lines);
  const times = [log.lines[0], log.lines[log.lines.length - 1]].map(line => line ? clockOf(line).slice(0, 8) : "");
  setText($("found"), log.lines.length
    ? `${number(lines.length)} of ${number(log.lines.length)} lines, ${times.join(" to ")} UTC` : "");
  $("more").hidden = lines.length <= TABLES.lines.limit;
}

// Figures and tables: the cells of each row, and what a click on a row does.
const failureText = failure => Object.hasOwn(WORDS.failures, failure)
  ? `${failure}${failure > 0 ? "" : ":"} ${WORDS.failures[failure]}` : failure;

const filterBy = ({ side, client, host, path }) => choose({ side, client, host, path });
const serverKey = ({ client, host }) => JSON.stringify([client, host]);

// A column has a name and a value. With `as`, it is a column of numbers, and `as` gives their text. With
// `act`, it has buttons.
const column = (name, of, as, act) => ({ name, of, as, act }), link = (name, of, act) => column(name, of, undefined, act);
// An app need not name a client, and a served request has none.
const clientOf = one => one.client || (one.side === "made" ? "–" : one.side);
const pathOf = one => `${one.method} ${one.path}`.trim() || "–";
const HOST = column("Host", one => one.host || "–");
// The bar of a served request is what it waits for, beside its own time.
const NOW = [link("What", one => one.sentence, row => openRow(row)), column("Client", clientOf),
  Object.assign(column("Whose time", one => hasShares(one) ? `${seconds(one.figures.upstream_s)} upstream, ${seconds(one.figures.own_s)} own` : ""),
    { part: one => hasShares(one) ? one.figures.upstream_s / (one.figures.upstream_s + one.figures.own_s) : undefined }),
  column("Since", one => one.since), column("Last", one => one.last)];
const REQUESTS = column("Requests", one => one.numbers[COUNT], number);
const RATE = column("Requests/s", one => one.numbers[COUNT] / (one.time ?? covered()), number);
const MEAN = column("Mean", one => one.numbers[SUM] / one.numbers[COUNT], seconds);
const SHARES = [["Errors", ERRORS], ["4xx", REFUSED]].map(([name, place]) =>
  column(name, one => share(one.numbers, place), percent));
const [P50, P90, P99] = QUANTILES.map(q =>
  column(`p${100 * q}`, one => estimate(q, one.numbers, one.bounds).value, (value, one) => quantileText(q, one)));
// A click on a row acts as the row's first button.
const TABLES = {
  wrong: { title: "Now", columns: NOW },
  notes: { title: "Notes", columns: NOW },
  slowest: { title: "Requests, the slowest by p99 first", columns: [link("Request", pathOf, row => openRow(row)),
    link("Client", clientOf, filterBy), HOST, REQUESTS, ...SHARES, MEAN, P99] },
  lines: { title: "The newest 100 lines of the log", limit: 100, columns: [
    link("Time", line => clockOf(line) || "–", line => openLine(line)), column("Severity", ({ of }) => of("severity")),
    column("Kind", kindOf), column("Client", ({ party }) => party.client || (party.side === "made" ? "–" : "")), column("Request", requestOf), column("Status", statusOf),
    column("Duration", line => line.seconds, value => value === undefined ? "" : seconds(value)),
    link("Trace", line => line.trace.slice(0, 8), line => line.trace && choose({ request: "", trace: line.trace }))] },
};
for (const side of SIDES) {
  TABLES[`${side}-by-time`] = { title: `Requests ${side}, by time`, limit: 300,
    columns: [column("When", one => one.to, clock), RATE, ...SHARES, P50, P90, P99] };
  TABLES[`${side}-by-bucket`] = { title: `Requests ${side}, by latency`, limit: 300,
    columns: [column("Latency", one => one.name), REQUESTS] };
}

// The subject of each row.
const subjects = new WeakMap();

function makeTable(id) {
  const { columns, title } = TABLES[id], label = `${id}-title`, heads = columns.map(({ name, as }) =>
    element(as ? "th.number" : "th", { scope: "col" }, name));
  return element("div.scroll", { tabindex: 0, role: "region", "aria-labelledby": label }, element("table",
    element("caption", element(/by-|notes|more/.test(id) ? "h3" : "h2", { id: label }, title)), element("thead", element("tr", heads)),
    element("tbody", { id, onclick: event => act(event, columns) })));
}

// A click that ends a selection of text does nothing.
function act({ target }, columns) {
  const one = subjects.get(target.closest("tr")), button = target.closest("button");
  if (!one || !button && String(getSelection())) return;
  (button ? columns[target.closest("td").cellIndex] : columns.find(column => column.act))?.act(one);
}

const makeRow = columns => element("tr", columns.map(({ name, as, act }) =>
  element(as ? "td.number" : "td", { "data-name": name }, act && element("button.link"))));

// A row that stays keeps its elements, so that clicks, the focus and a selection survive a drawing.
function fill(id, list) {
  const { columns, limit = 20 } = TABLES[id], body = $(id);
  const there = new Map([...body.rows].map(row => [row.dataset.key, row])), used = new Set();
  const rows = list.slice(0, limit).map((one, i) => {
    // Two lines may be equal.
    const key = used.has(one.key) ? `${one.key} ${i}` : one.key, row = there.get(key) || makeRow(columns);
    used.add(row.dataset.key = key);
    row.className = (one.severity || one.of?.("severity"))?.match(/^(WARN|ERROR)$/)?.[0] || "";
    subjects.set(row, one);
    columns.forEach(({ of, as, act, part }, i) => {
      const value = of(one), text = as ? as(value, one) : value, cell = row.cells[i];
      setText(act ? cell.firstChild : cell, text);
      if (act) cell.firstChild.hidden = !text;
      if (part) setPart(cell, part(one));
    });
    return row;
  });
  if (!rows.length) rows.push(there.get("")
    || element("tr", { "data-key": "" }, element("td.none", { colspan: columns.length }, "None.")));
  for (const row of [...body.rows]) if (!rows.includes(row)) row.remove();
  rows.forEach((row, i) => { if (body.rows[i] !== row) body.insertBefore(row, body.rows[i] || null); });
}

// The part of a bar under the text of a cell.
function setPart(cell, part) {
  cell.classList.toggle("part", part >= 0);
  if (part >= 0) cell.style.setProperty("--part", percent(part));
}

// Adds up by key, the most requests first.
function grouped(list, bounds, keyOf, isWanted = isChosen) {
  const groups = new Map();
  for (const one of list) {
    if (!isWanted(one)) continue;
    const key = keyOf(one);
    if (!groups.has(key)) groups.set(key, { ...one, key, bounds, numbers: nothing(bounds) });
    add(groups.get(key).numbers, one.numbers);
  }
  return [...groups.values()].sort((a, b) => b.numbers[COUNT] - a.numbers[COUNT]);
}

// A row of requests is about all of them, whether they failed or not.
const requestRows = (side, list) => grouped(list, known[side].bounds, requestKey).map(row => ({ ...row, failure: "" }));

const inSteps = place => shown.steps.flatMap(step => [...step[place].values()]);
const sum = list => list.reduce((sum, one) => sum + one.numbers[COUNT], 0);

// The tiles of one side: titles and texts for the chosen parties.
function figuresOf(side) {
  const isMade = side === "made", { bounds } = known[side], numbers = nothing(bounds);
  for (const step of shown.steps) add(numbers, sumOf(step, side));
  const part = place => number(numbers[place]) + (numbers[place] ? ` (${percent(share(numbers, place))})` : "");
  const active = chosen.path ? "–" : number(sum(seriesOf(isMade ? "active" : "serving").filter(isChosen)));
  return [[`Requests ${side}`, ["requests", "", number(numbers[COUNT])], ["active", " active", active]],
    ["Errors: no complete response, or 5xx", ["errors", "", part(ERRORS)]],
    ["4xx", ["refused", "", part(REFUSED)]],
    ["Latency", ...QUANTILES.map(q => [`p${100 * q}`, ` p${100 * q}`, quantileText(q, { numbers, bounds })])]];
}

const makeFigures = side => element("dl", figuresOf(side).map(([title, ...figures]) =>
  element("div", element("dt", title), figures.map(([name, words]) =>
    element("dd", element("span", { id: `${side}-${name}` }, "–"), words && element("small", words))))));

function figures() {
  for (const side of SIDES) {
    for (const [, ...figures] of figuresOf(side)) for (const [name, , text] of figures) setText($(`${side}-${name}`), text);
  }
}

const requestKey = ({ side, client, host, method, path }) => JSON.stringify([side, client, host, method, path]);

function slowestRows() {
  const list = SIDES.flatMap(side => requestRows(side, inSteps(side)));
  fill("slowest", list.map(one => ({ ...one, p99: P99.of(one) })).sort((a, b) => b.p99 - a.p99));
}

// The charts as numbers. They are computed only while they are shown.
function numbers() {
  if ($("numbers").open) for (const side of SIDES) numbersOf(side);
}

function numbersOf(side) {
  const { bounds } = known[side], all = nothing(bounds), rows = shown.steps.map(step =>
    ({ key: `${step.from}`, to: step.to, time: (step.to - step.from) / 1000, numbers: sumOf(step, side), bounds }));
  for (const { numbers } of rows) add(all, numbers);
  fill(`${side}-by-time`, rows.reverse());
  fill(`${side}-by-bucket`, bounds.map((bound, i) =>
    ({ key: `${bound}`, name: bucketName(bounds, i), numbers: [all[BUCKETS + i]] })));
}

function found() {
  if (!hasLog) return;
  const lines = foundLines(), [first, last] = [0, log.lines.length - 1].map(i => log.lines[i] && clockOf(log.lines[i]).slice(0, 8));
  fill("lines", lines);
  setText($("found"), log.lines.length
    ? `${number(lines.length)} of ${number(log.lines.length)} lines, ${first} to ${last}` : "");
}

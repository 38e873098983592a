// Figures and tables: what each row says, what a click on it chooses, and by which columns it is sorted.
const FAILURES = { timeout: "no whole answer in time", dns: "the host's name cannot be resolved",
  connect: "no connection can be made", connection_lost: "the connection broke",
  tls: "no TLS with this server, or not with its certificate", too_many_redirects: "redirected too often",
  body: "a body cannot be read or decoded", unsupported_url: "no loader takes such a URL", 400: "Bad Request",
  401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 429: "Too Many Requests", 500: "Internal Server Error",
  502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout" };
const failureText = failure => FAILURES[failure] ? `${failure}${failure > 0 ? "" : ":"} ${FAILURES[failure]}` : failure;

const filtersOf = ({ side, client, host, path }) => ({ side, client, host, path });
const filterBy = one => choose(filtersOf(one));
const serverKey = ({ client, host }) => JSON.stringify([client, host]);

// A column has a name and a value, by which it is sorted. `as` makes it one of numbers and says their text, `act` one of buttons.
const column = (name, of, as, act) => ({ name, of, as, act }), link = (name, of, act) => column(name, of, undefined, act);
const clientOf = one => one.client || "–";
const pathOf = one => `${one.method} ${one.path}`.trim() || "–";
const CLIENT = column("Client", clientOf), HOST = column("Host", one => one.host || "–");
const REQUESTS = column("Requests", one => one.numbers[COUNT], number);
const RATE = column("Requests/s", one => one.numbers[COUNT] / (one.time ?? covered()), number);
const MEAN = column("Mean", one => one.numbers[SUM] / one.numbers[COUNT], seconds);
const SHARES = [["Errors", ERRORS], ["4xx", REFUSED]].map(([name, place]) =>
  column(name, one => share(one.numbers, place), percent));
const [P50, P90, P99] = QUANTILES.map(q =>
  column(`p${100 * q}`, one => quantile(q, one.numbers, one.bounds), (value, one) => quantileText(q, one)));
const none = "No request has ended in these minutes.";

// A click on a row acts as the row's first button.
const TABLES = {
  failures: { title: "What fails, in these minutes", none: "Nothing has failed in these minutes.", columns: [
    link("Failure", one => failureText(one.failure), one => choose({ ...filtersOf(one), only: one.failure })),
    column("Kind", one => one.side), CLIENT, HOST, column("Request", pathOf), REQUESTS,
    link("Newest line", one => one.line ? clockOf(one.line) : "", one => openLine(one.line))] },
  slowest: { title: "The slowest requests made, by p99", none, limit: 10,
    columns: [link("Request", pathOf, filterBy), HOST, CLIENT, REQUESTS, ...SHARES, MEAN, P99] },
  parties: { title: "Requests made, by client and host, in these minutes", none, limit: 10, columns: [
    link("Client", clientOf, one => filterBy({ ...one, path: "" })), HOST, RATE, ...SHARES, P50, P99,
    column("In flight", one => one.active, number)] },
  routes: { title: "Requests served, by route, in these minutes", none,
    columns: [link("Request", pathOf, filterBy), RATE, ...SHARES, MEAN, P99] },
  "by-phase": { title: "The phases, of the requests that had them", none, limit: 100,
    columns: [CLIENT, HOST, column("Phase", one => one.phase), REQUESTS, MEAN, P99] },
  lines: { title: "The log, newest first", none: "No such line.", limit: 50, columns: [
    link("Time", line => clockOf(line) || "–", line => openLine(line)), column("Severity", ({ of }) => of("severity")),
    column("Kind", kindOf), column("Client", ({ of }) => of("client")), column("Request", requestOf), column("Status", statusOf),
    column("Duration", line => line.seconds, value => value === undefined ? "" : seconds(value)),
    link("Trace", line => line.trace.slice(0, 8), line => line.trace && choose({ request: "", trace: line.trace }))] },
};
for (const side of SIDES) {
  TABLES[`${side}-by-time`] = { title: `Requests ${side}, by time`, none: "No scrape yet.",
    columns: [column("When", one => -one.to, (age, one) => clock(one.to)), RATE, ...SHARES, P50, P90, P99] };
  TABLES[`${side}-by-bucket`] = { title: `Requests ${side}, by latency`, none: "No scrape yet.", limit: 300,
    columns: [column("Latency", one => one.bound, (bound, one) => one.name), REQUESTS] };
}

// What a table is sorted by, and what its rows are of.
const sorts = {}, subjects = new WeakMap();

function makeTable(id) {
  const { columns, title } = TABLES[id], label = `${id}-title`, heads = columns.map(({ name, as }, i) =>
    element(as ? "th.number" : "th", { scope: "col" }, element("button", { onclick: () => sort(id, i) }, name)));
  return element("div.scroll", { tabindex: 0, role: "region", "aria-labelledby": label }, element("table",
    element("caption", element(id.includes("by-") ? "h3" : "h2", { id: label }, title)), element("thead", element("tr", heads)),
    element("tbody", { id, onclick: event => act(event, columns) })));
}

// First the largest number or the first text, then the other way round, then as before.
function sort(id, index) {
  const first = TABLES[id].columns[index].as ? -1 : 1, before = sorts[id]?.index === index ? sorts[id].sign : 0;
  sorts[id] = before === -first ? undefined : { index, sign: before ? -first : first };
  [...$(id).previousSibling.rows[0].cells].forEach((head, i) =>
    head.ariaSort = sorts[id]?.index !== i ? null : sorts[id].sign > 0 ? "ascending" : "descending");
  redraw();
}

function sorted(id, list) {
  if (!sorts[id]) return list;
  const { index, sign } = sorts[id], { of, as } = TABLES[id].columns[index];
  // What has no number is last, whichever way.
  const valueOf = one => of(one) ?? -sign * Infinity;
  return list.toSorted((a, b) => sign * (as ? valueOf(a) - valueOf(b) || 0 : of(a).localeCompare(of(b))));
}

// A click that ends a selection of text is none.
function act({ target }, columns) {
  const one = subjects.get(target.closest("tr")), button = target.closest("button");
  if (!one || !button && String(getSelection())) return;
  (button ? columns[target.closest("td").cellIndex] : columns.find(column => column.act))?.act(one);
}

const makeRow = columns => element("tr", columns.map(({ name, as, act }) =>
  element(as ? "td.number" : "td", { "data-name": name }, act && element("button.link"))));

// A row that stays keeps its elements: a click, the focus and a selection outlast a drawing. Others take those of rows that go.
function fill(id, list) {
  const { columns, limit = 20, none } = TABLES[id], body = $(id);
  const there = new Map([...body.rows].map(row => [row.dataset.key, row]));
  const ones = sorted(id, list).slice(0, limit), keys = new Set(ones.map(one => one.key));
  const free = [...body.rows].filter(row => !keys.has(row.dataset.key) && row.dataset.key && !row.contains(document.activeElement));
  const rows = ones.map(one => {
    const row = there.get(one.key) || free.pop() || makeRow(columns);
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
  if (!rows.length) rows.push(there.get("")
    || element("tr", { "data-key": "" }, element("td.none", { colspan: columns.length }, none)));
  for (const row of [...body.rows]) if (!rows.includes(row)) row.remove();
  rows.forEach((row, i) => { if (body.rows[i] !== row) body.insertBefore(row, body.rows[i] || null); });
}

// Sums by what keyOf says of each, those with the most requests first.
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

const inSteps = place => shown.steps.flatMap(step => [...step[place].values()]);
// Whether the steps have all that happened in the time that is shown, and of a minute at least.
const isWhole = place => shown.steps[0]?.from >= known.since[place] && shown.time - known.since[place] >= 60000;
const sumsOf = (place, isRecent) => isRecent ? inSteps(place) : seriesOf(place);
const setTitle = (id, text, isRecent) => setText($(`${id}-title`), text + (isRecent ? ", in these minutes" : ", since the start"));

const sum = list => list.reduce((sum, one) => sum + one.numbers[COUNT], 0);

// What each is called, which says where it stands what counts as an error, and what it is of those who are chosen.
function figuresOf(side) {
  const isMade = side === "made", { bounds } = known[side], numbers = nothing(bounds);
  for (const one of seriesOf(side)) if (isChosen(one)) add(numbers, one.numbers);
  const part = place => number(numbers[place]) + (numbers[place] ? ` (${percent(share(numbers, place))})` : "");
  return [["requests", `Requests ${side}`, number(numbers[COUNT])],
    ["errors", `Errors: ${isMade ? "no whole response, or 5xx" : "5xx, or broken off"}`, part(ERRORS)],
    ["refused", "4xx", part(REFUSED)],
    ["active", "In flight", chosen.path ? "–" : number(sum(seriesOf(isMade ? "active" : "serving").filter(isChosen)))],
    ...QUANTILES.map(q => [`p${100 * q}`, `p${100 * q}`, quantileText(q, { numbers, bounds })])];
}

const makeFigures = side => element("dl", figuresOf(side).map(([name, words]) =>
  element("div", element("dt", words), element("dd", { id: `${side}-${name}` }, "–"))));

function figures() {
  for (const side of SIDES) for (const [name, , text] of figuresOf(side)) setText($(`${side}-${name}`), text);
}

const requestKey = ({ client, host, method, path }) => JSON.stringify([client, host, method, path]);

function parties() {
  const active = Map.groupBy(seriesOf("active"), serverKey);
  fill("parties", grouped(inSteps("made"), known.made.bounds, serverKey)
    .map(one => ({ ...one, active: sum(active.get(one.key) || []) })));
  fill("routes", grouped(inSteps("served"), known.served.bounds, requestKey));
}

function slowest() {
  const isRecent = isWhole("made"), list = grouped(sumsOf("made", isRecent), known.made.bounds, requestKey);
  setTitle("slowest", TABLES.slowest.title, isRecent);
  fill("slowest", list.map(one => ({ ...one, p99: P99.of(one) })).sort((a, b) => b.p99 - a.p99));
}

function failures() {
  const newest = newestFailures();
  fill("failures", grouped(inSteps("failures"), [], one => one.key).map(one => ({ ...one, line: newest.get(one.key) })));
}

// What the charts show, for those who do not see them. Only if it is open.
function numbers() {
  if ($("numbers").open) for (const side of SIDES) numbersOf(side);
}

function numbersOf(side) {
  const { bounds } = known[side], rows = [], all = nothing(bounds), part = 30000;
  for (let to = shown.time; shown.steps.some(step => step.to <= to); to -= part) {
    const steps = shown.steps.filter(step => step.to <= to && step.to > to - part), numbers = nothing(bounds);
    for (const step of steps) add(numbers, sumOf(step, side));
    add(all, numbers);
    rows.push({ key: `${rows.length}`, to, time: steps.reduce((time, step) => time + step.to - step.from, 0) / 1000,
      numbers, bounds });
  }
  fill(`${side}-by-time`, rows);
  fill(`${side}-by-bucket`, bounds.map((bound, i) =>
    ({ key: `${bound}`, bound, name: bucketName(bounds, i), numbers: [all[BUCKETS + i]] })));
}

function found() {
  if (!hasLog) return;
  const lines = foundLines(), [first, last] = [0, log.lines.length - 1].map(i => log.lines[i] && clockOf(log.lines[i]).slice(0, 8));
  fill("lines", lines);
  setText($("found"), log.lines.length
    ? `${number(lines.length)} of ${number(log.lines.length)} lines, ${first} to ${last} UTC` : "");
  $("more").hidden = lines.length <= TABLES.lines.limit;
}

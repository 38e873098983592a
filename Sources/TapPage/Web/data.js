// The data of the page: what each five seconds of the last ten minutes added, as the process counts it. Does
// not use the document.

// The sums of a step: requests by direction, and what they took, by phase, for round trips and connections.
const SIDES = ["made", "served"], PLACES = [...SIDES, "phases", "roundTrips", "opened", "sentAgain", "failures", "upstream", "calls"];
// What is now, by its name in these scripts.
const FAMILIES = { active: "http_client_active_requests", serving: "http_server_active_requests", target: "target_info",
  started: "process_start_time_seconds", build: "session_tap_build_info" };
const METRICS = `metrics?${Object.values(FAMILIES).map(name => `name[]=${name}`).join("&")}`;
// The indices of an array of numbers: these four, then the requests in each bucket, not cumulative.
const COUNT = 0, SUM = 1, ERRORS = 2, REFUSED = 3, BUCKETS = 4;
const WINDOW = 600000, MINUTE = 60000;

// Lets the browser handle events every few milliseconds, so that the page scrolls while it reads thousands of
// series.
let sliceEnd = 0;
async function breathe() {
  if (performance.now() < sliceEnd) return;
  await new Promise(resume => setTimeout(resume));
  sliceEnd = performance.now() + 8;
}

// The time origin of the page by the app's clock, which the log uses too. Date has whole seconds (RFC 9110,
// section 6.6.1), so smaller differences between the clocks are ignored.
let epoch = performance.timeOrigin;
function setClock(date) {
  const own = Date.now(), difference = Date.parse(date) + 500 - own;
  epoch = own - performance.now() + (Math.abs(difference) > 1500 ? difference : 0);
}

async function get(address, type = "*/*") {
  const answer = await fetch(address, { cache: "no-store", headers: { Accept: type }, signal: AbortSignal.timeout(10000) })
    .catch(() => { throw new Error("the app does not answer"); });
  if (!answer.ok) throw new Error(`/${address.split("?")[0]} answers ${answer.status}`);
  setClock(answer.headers.get("Date"));
  return answer;
}

async function readLines(answer, take) {
  let count = 0;
  for (const line of (await answer.text()).split("\n")) {
    if (line) take(line);
    if (++count % 100 === 0) await breathe();
  }
}

// Parses the labels of a sample (Prometheus, "Exposition formats").
function labelsOf(text) {
  const labels = {};
  for (const [, name, value] of text.matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g)) {
    labels[name] = value.replace(/\\(.)/g, (_, one) => one === "n" ? "\n" : one);
  }
  return labels;
}

// A party is the subject of the filters: client, host, method and path of a made request, or method and route
// of a served one.
function partyOf(side, labels) {
  const { client = "", server_address: address = "", server_port: port = "", http_request_method: method = "" } = labels;
  const host = side === "made" ? `${address}:${port}`.replace(/:(80|443)?$/, "") : "";
  const party = { side, client, host, path: labels.url_template || labels.http_route || "", method,
    isCached: labels.cache === "hit" };
  return { ...party, key: JSON.stringify(Object.values(party)) };
}

// How a request failed: with a status code, or with an error before the response was complete. A 4xx that the
// app answers has no error_type, because the caller caused it. On this page an error is a request without a
// complete response, or a 5xx. 4xx are apart.
const failureOf = (type, code = "") => type || (/^4\d\d$/.test(code) ? code : "");
const isRefusal = failure => /^4(\d\d|xx)$/.test(failure);

// The steps of the history, the oldest first, the bounds of the buckets, and the samples of what is now.
const known = { made: { bounds: [] }, served: { bounds: [] }, steps: [], time: undefined, samples: {} };
// The requests that the process keeps: the slowest of each row, and the newest of each failure.
const kept = { lines: [] };

const makeStep = slot => ({ slot, sums: {}, ...Object.fromEntries(PLACES.map(place => [place, new Map()])) });

// Reads the steps since the last one, which was not over.
async function readHistory() {
  const history = await get(`page/history?since=${known.slot || 0}`).then(answer => answer.json());
  // Of another process: what is known was of the one before.
  if (known.id && known.id !== history.id) location.reload();
  const now = performance.now(), { id, slot: last, slot_s: width } = history, steps = new Map();
  for (const side of SIDES) if (history.bounds[side]) known[side].bounds = [...history.bounds[side], Infinity];
  const series = history.series.map(({ side, labels }) => ({ side, one: describe(side, labelsOf(labels)) }));
  for (const step of known.steps) if (step.slot < known.slot) steps.set(step.slot, step);
  for (const { slot, added, upstream = [] } of history.slots) {
    const step = makeStep(slot);
    for (const route of upstream) addRoute(step, route);
    for (const { series: place, ...values } of added) addSeries(step, series[place], values);
    steps.set(slot, step);
    await breathe();
  }
  // Slots without requests are not in the history.
  const begin = slot => now - 1000 * (history.slot_age_s + width * (last - slot));
  const start = now - 1000 * Math.max(0, ...Object.values(history.covered_s)), all = [];
  for (let slot = last - WINDOW / 1000 / width; slot <= last; slot++) {
    const from = Math.max(start, begin(slot)), to = Math.min(now, begin(slot + 1));
    if (to > from) all.push(Object.assign(steps.get(slot) || makeStep(slot), { from, to }));
  }
  Object.assign(known, { id, slot: last, time: now, steps: all });
  kept.lines = [...history.slowest, ...history.failed].map(one => keptLine(history.series[one.series], one));
}

// What a step added to a series. All requests of a series failed, or none.
function addSeries(step, { side, one }, { sum_s, counts, opened, round_trips, round_trips_s, sent_again, ...phases }) {
  const count = counts.reduce((a, b) => a + b, 0), numbers = nothing(known[side].bounds);
  [numbers[COUNT], numbers[SUM]] = [count, sum_s];
  numbers.set(counts, BUCKETS);
  if (one.failure) numbers[isRefusal(one.failure) ? REFUSED : ERRORS] = count;
  grow(step[side], one, numbers);
  if (one.failure) grow(step.failures, { ...one, key: failureKey(one, one.failure) }, [count]);
  if (opened >= 0) grow(step.opened, one, [opened]);
  if (sent_again >= 0) grow(step.sentAgain, one, [sent_again]);
  if (round_trips) grow(step.roundTrips, one, [round_trips, round_trips_s]);
  for (const [name, time] of Object.entries(phases)) {
    const phase = name.slice(0, -2);
    grow(step.phases, { ...one, key: one.key + phase, phase }, [count, time]);
  }
}

// What the calls of a route's requests took.
function addRoute(step, { route: path, upstream_s, clients }) {
  grow(step.upstream, { key: path, side: "served", path }, [0, upstream_s]);
  for (const [client, count, time] of clients) grow(step.calls, { key: JSON.stringify([path, client]), path, client }, [count, time]);
}

function grow(parties, party, numbers) {
  if (!parties.has(party.key)) parties.set(party.key, { ...party, numbers: new Float64Array(Math.max(BUCKETS, numbers.length)) });
  add(parties.get(party.key).numbers, numbers);
}

function describe(side, labels) {
  return { ...partyOf(side, labels), failure: failureOf(labels.error_type, labels.http_response_status_code) };
}

// Reads gauges and infos.
async function readNow() {
  const samples = Object.fromEntries(Object.keys(FAMILIES).map(place => [place, []]));
  await readLines(await get(METRICS), line => {
    const [, name, labels, value] = line.match(/^(\w+)(?:\{(.*)\})? (\S+)/) || [];
    const place = Object.keys(FAMILIES).find(place => FAMILIES[place] === name);
    if (place) samples[place].push({ ...describe(place === "serving" ? "served" : "made", labelsOf(labels || "")),
      labels: labelsOf(labels || ""), numbers: [Number(value)] });
  });
  known.samples = samples;
}

const seriesOf = place => known.samples[place] || [];
const failureKey = (party, failure) => `${failure} ${party.key}`;

function add(total, numbers) {
  for (let i = 0; i < numbers.length; i++) total[i] += numbers[i];
  return total;
}

const nothing = bounds => new Float64Array(BUCKETS + bounds.length);

// The sum of a step over the chosen parties. It is computed once for each choice.
function sumOf(step, side) {
  if (step.sums[side]?.choice !== choiceKey) {
    const numbers = nothing(known[side].bounds);
    for (const party of step[side].values()) if (isChosen(party)) add(numbers, party.numbers);
    step.sums[side] = { choice: choiceKey, numbers };
  }
  return step.sums[side].numbers;
}


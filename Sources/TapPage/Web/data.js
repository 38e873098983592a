// The data of the page: reads the exposition, adds up what happened between scrapes, and puts the process's
// history before that. Does not use the document.

// The families that the page requests, by their names in these scripts. The first ones, SUMMED, are added up
// in steps.
const FAMILIES = { made: "http_client_request_duration_seconds", served: "http_server_request_duration_seconds",
  phases: "http_client_request_phase_duration_seconds", roundTrips: "http_client_network_round_trip_seconds",
  opened: "http_client_connections_opened_total", sentAgain: "http_client_retransmitted_segments_total",
  active: "http_client_active_requests", serving: "http_server_active_requests", target: "target_info",
  started: "process_start_time_seconds", build: "session_tap_build_info" };
const PLACES = Object.keys(FAMILIES), SUMMED = PLACES.slice(0, 6), SIDES = ["made", "served"];
const METRICS = `metrics?${PLACES.map(place => `name[]=${FAMILIES[place]}`).join("&")}`;
// The indices of an array of numbers: these four, then the requests in each bucket, not cumulative. A counter
// has only the first.
const COUNT = 0, SUM = 1, ERRORS = 2, REFUSED = 3, BUCKETS = 4;
const WINDOW = 600000;

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

async function get(address) {
  const answer = await fetch(address, { cache: "no-store", signal: AbortSignal.timeout(10000) })
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

// For each family its series by the text of their labels, and the bounds of its buckets.
const makeFamilies = () => Object.fromEntries(PLACES.map(place => [place, Object.assign(new Map(), { bounds: [] })]));

function takeSample(scrape, line) {
  const place = PLACES.find(place => line.startsWith(FAMILIES[place]));
  if (!place) return;
  const brace = line.indexOf("{"), space = line.lastIndexOf(" "), end = brace < 0 ? space : brace;
  const suffix = line.slice(FAMILIES[place].length, end), value = Number(line.slice(space + 1)), series = scrape[place];
  const labels = line.slice(end + 1, Math.max(end + 1, space - 1));
  // The bound is always the last label. Within a value of another label its quotation mark would be escaped.
  const bound = suffix === "_bucket" ? labels.lastIndexOf('le="') : -1;
  const key = bound < 0 ? labels && labels + "," : labels.slice(0, bound);
  if (!series.has(key)) series.set(key, Object.assign([0, 0, 0, 0], { below: 0 }));
  const numbers = series.get(key);
  if (bound < 0) numbers[suffix === "_sum" ? SUM : COUNT] = value;
  else {
    if (series.size === 1) series.bounds.push(Number(labels.slice(bound + 4, -1).replace("+Inf", "Infinity")));
    numbers.push(value - numbers.below);
    numbers.below = value;
  }
}

// The series of the last scrape, and steps: what happened between the scrapes of the last ten minutes. A step
// has sums for each party that had requests, so its size does not depend on the number of series. `since` is
// the time from which on the steps are complete.
const known = { ...makeFamilies(), steps: [], since: {}, time: undefined };

const seriesOf = place => [...known[place].values()];

const makeStep = (from, to) => ({ from, to, sums: {},
  ...Object.fromEntries([...SUMMED, "failures"].map(place => [place, new Map()])) });

function learn(scrape, now) {
  const step = makeStep(known.time, now);
  for (const place of PLACES) learnFamily(place, scrape[place], step);
  if (known.time) known.steps.push(step);
  else for (const place of SUMMED) known.since[place] = now;
  known.steps = coarser(known.steps.filter(one => one.to > now - WINDOW), now);
  known.time = now;
}

// Joins steps that are older than a minute to the width of those of the history, so that an open page draws
// as much as a new one.
function coarser(steps, now) {
  const joined = [];
  for (const step of steps) {
    const before = joined[joined.length - 1];
    if (before && step.to < now - 60000 && step.to - before.from < 6500) join(before, step);
    else joined.push(step);
  }
  return joined;
}

// Adds a step to the one before it.
function join(before, step) {
  for (const place of [...SUMMED, "failures"]) {
    for (const party of step[place].values()) add(sumFor(party, before[place], party.numbers.length - BUCKETS), party.numbers);
  }
  before.to = step.to;
  before.sums = {};
}

function learnFamily(place, series, step) {
  const before = known[place];
  if (!series.size) series.bounds = before.bounds;
  // The buckets differ: the app was restarted with another configuration, so the page starts again too.
  if (before.bounds.length && before.bounds.join() !== series.bounds.join()) location.reload();
  for (const [text, numbers] of series) {
    const old = before.get(text), one = { ...(old || describe(place, text)), numbers };
    markFailures(one);
    series.set(text, one);
    // A counter that fell was reset by a restart of the app.
    const base = old && old.numbers[COUNT] <= numbers[COUNT] ? old.numbers : [];
    if (SUMMED.includes(place)) grow(step, place, one, numbers.map((value, i) => value - (base[i] || 0)));
  }
  known[place] = series;
}

// All requests of a series failed, or none.
function markFailures({ failure, numbers }) {
  if (failure) numbers[isRefusal(failure) ? REFUSED : ERRORS] = numbers[COUNT];
}

// Adds what a step added to a series.
function grow(step, place, one, numbers) {
  if (!(numbers[COUNT] > 0)) return;
  add(sumFor(one, step[place], numbers.length - BUCKETS), numbers);
  if (one.failure) fail(step, one, one.failure, numbers[COUNT]);
}

// Labels are parsed once for each series.
function describe(place, text) {
  const labels = labelsOf(text), party = partyOf(/^serv/.test(place) ? "served" : "made", labels), { phase = "" } = labels;
  return { ...party, key: party.key + phase, phase, labels,
    failure: SIDES.includes(place) ? failureOf(labels.error_type, labels.http_response_status_code) : "" };
}

// The sums of a party in a step.
function sumFor(party, parties, bucketCount) {
  let one = parties.get(party.key);
  if (!one) parties.set(party.key, one = { ...party, numbers: new Float64Array(BUCKETS + bucketCount) });
  return one.numbers;
}

const failureKey = (party, failure) => `${failure} ${party.key}`;

function fail(step, party, failure, count) {
  sumFor({ ...party, key: failureKey(party, failure), failure }, step.failures, 0)[COUNT] += count;
}

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

// Replaces the steps of the time that the history covers. Called right after a scrape.
function backfill(history) {
  const now = known.time, width = history.slot_s * 1000, filled = [];
  const longest = Math.max(...Object.values(history.covered_s)), start = now - longest * 1000;
  const series = history.series.map(({ side, labels }) => ({ side, one: describe(side, labels) }));
  let end = start;
  for (const slot of [...history.slots, { age_s: 0, added: [] }]) {
    const from = Math.max(start, now - slot.age_s * 1000);
    // The history has no slots without requests.
    while (from - end > 1) {
      const next = Math.min(from, end + width);
      filled.push(makeStep(end, next));
      end = next;
    }
    const step = makeStep(from, end = Math.min(now, now - slot.age_s * 1000 + width));
    for (const [place, sum, ...counts] of slot.added) {
      const { side, one } = series[place];
      if (!known[side].bounds.length) known[side].bounds = [...history.bounds[side], Infinity];
      const numbers = nothing(known[side].bounds);
      [numbers[COUNT], numbers[SUM]] = [counts.reduce((a, b) => a + b, 0), sum];
      numbers.set(counts, BUCKETS);
      markFailures({ ...one, numbers });
      grow(step, side, one, numbers);
    }
    if (end > from) filled.push(step);
  }
  // The rate of a last step of less than two seconds would mean little: it is joined with the one before.
  const last = filled[filled.length - 1];
  if (filled.length > 1 && last.to - last.from < 2000) join(filled[filled.length - 2], filled.pop());
  known.steps = [...known.steps.filter(step => step.to <= start), ...filled].filter(step => step.to > now - WINDOW);
  // The history has no phases and no connections, and may have less of one side than of the other.
  for (const place of SUMMED) {
    known.since[place] = history.covered_s[place] < longest ? now - history.covered_s[place] * 1000
      : SIDES.includes(place) ? -Infinity : now;
  }
}

// What the page knows: reads the exposition as it arrives, adds the scrapes up, and puts the history of the process before them.
// Touches no document.
"use strict";

// The families that the page asks for, by what they are called here. Those of histograms first.
const FAMILIES = { made: "http_client_request_duration_seconds", served: "http_server_request_duration_seconds",
  phases: "http_client_request_phase_duration_seconds", roundTrips: "http_client_network_round_trip_seconds",
  active: "http_client_active_requests", serving: "http_server_active_requests", opened: "http_client_connections_opened_total",
  sentAgain: "http_client_retransmitted_segments_total", target: "target_info", started: "process_start_time_seconds",
  build: "session_tap_build_info" };
const PLACES = Object.keys(FAMILIES), HISTOGRAMS = PLACES.slice(0, 4);
const METRICS = `metrics?${PLACES.map(place => `name[]=${FAMILIES[place]}`).join("&")}`;
const ESCAPES = { "\\n": "\n", "\\\\": "\\", '\\"': '"' };
// The places in an array of numbers: these four, then the requests in each bucket, not cumulative.
const COUNT = 0, SUM = 1, ERRORS = 2, REFUSED = 3, BUCKETS = 4;

// Gives the page back to its reader after some milliseconds: it must scroll while thousands of series are read.
let sliceEnd = 0;
async function breathe() {
  if (performance.now() < sliceEnd) return;
  await new Promise(resume => setTimeout(resume));
  sliceEnd = performance.now() + 8;
}

async function get(address, accept) {
  const answer = await fetch(address, { cache: "no-store", headers: { Accept: accept }, signal: AbortSignal.timeout(10000) })
    .catch(() => { throw new Error("the app does not answer"); });
  if (!answer.ok) throw new Error(`/${address.split("?")[0]} answers ${answer.status}`);
  return answer;
}

async function readLines(answer, take) {
  const text = await answer.text();
  let start = 0, end;
  for (let count = 1; (end = text.indexOf("\n", start)) >= 0; count++) {
    take(text.slice(start, end));
    start = end + 1;
    if (count % 100 === 0) await breathe();
  }
}

// The labels of a sample (Prometheus, "Exposition formats").
function labelsOf(text) {
  const labels = {};
  for (const [, name, value] of text.matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g)) {
    labels[name] = value.replace(/\\[n\\"]/g, escape => ESCAPES[escape]);
  }
  return labels;
}

// Who makes requests to whom, or what the app is asked for: what the filters choose by. The method tells routes apart.
function partyOf(side, labels) {
  const client = labels.client || "", path = labels.url_template || labels.http_route || "";
  const host = side === "made" ? hostOf(labels.server_address, labels.server_port) : "";
  const method = side === "served" && labels.http_request_method || "";
  return { side, client, host, path, method, key: JSON.stringify([side, client, host, path, method]) };
}

const hostOf = (address = "", port = "") => address + (address && port && !/^(80|443)$/.test(port) ? `:${port}` : "");

// How a request failed: by a status code, or by an error that kept it from a whole response. 4xx that the app answers have no
// error_type: the caller made the error. The one meaning of error on this page: no whole response, or 5xx. 4xx are apart.
const failureOf = (type, code = "") => type || (/^4\d\d$/.test(code) ? code : "");
const isRefusal = failure => /^4(\d\d|xx)$/.test(failure);

// One scrape: what each family has by the text of the labels.
class Scrape {
  constructor() {
    for (const place of PLACES) this[place] = HISTOGRAMS.includes(place) ? new Histograms() : new Map();
  }

  take(line) {
    const place = PLACES.find(place => line.startsWith(FAMILIES[place]));
    if (!place) return;
    const brace = line.indexOf("{"), space = line.lastIndexOf(" "), end = brace < 0 ? space : brace;
    const text = brace < 0 ? "" : line.slice(brace + 1, line.lastIndexOf("}")), value = Number(line.slice(space + 1));
    if (HISTOGRAMS.includes(place)) this[place].take(line.slice(FAMILIES[place].length, end), text, value);
    else this[place].set(text, value);
  }
}

// The numbers of each series of a histogram.
class Histograms {
  series = new Map();
  bounds = [];
  #text; #numbers;

  take(suffix, text, value) {
    if (suffix === "_bucket") {
      // The bound is always the last label. In another one's value, the quotation mark would be escaped.
      const bound = text.lastIndexOf('le="');
      const numbers = this.#numbersOf(text.slice(0, bound));
      if (this.series.size === 1) this.bounds.push(Number(text.slice(bound + 4, -1).replace("+Inf", "Infinity")));
      numbers.push(value - numbers.below);
      numbers.below = value;
    } else if (suffix === "_count" || suffix === "_sum") {
      this.#numbersOf(text && text + ",")[suffix === "_count" ? COUNT : SUM] = value;
    }
  }

  #numbersOf(text) {
    if (text !== this.#text) {
      this.#text = text;
      this.#numbers = this.series.get(text);
      if (!this.#numbers) {
        this.#numbers = [0, 0, 0, 0];
        this.#numbers.below = 0;
        this.series.set(text, this.#numbers);
      }
    }
    return this.#numbers;
  }
}

const WINDOW = 600000;

// The series as they were at the last scrape, of the requests that are made and of those that are served, and what happened
// between the scrapes of the last minutes. A step keeps sums by party, which is a client, host and template or a route, and only
// of those that had requests: its size does not depend on the number of series.
const SIDES = ["made", "served"];
const known = { made: { series: new Map(), bounds: [] }, served: { series: new Map(), bounds: [] },
  active: new Map(), serving: new Map(), phases: new Map(), opened: new Map(), roundTrips: new Map(), sentAgain: new Map(),
  target: {}, build: {}, started: undefined, steps: [], phaseBounds: [], time: undefined };

const makeStep = (from, to) => ({ from, to, made: new Map(), served: new Map(), failures: new Map(), sums: {} });

function learn(scrape, now) {
  for (const name of SIDES) forgetOtherBuckets(name, scrape[name]);
  const step = makeStep(known.time, now);
  for (const name of SIDES) learnSide(name, scrape[name], step);
  for (const name of ["active", "opened", "sentAgain"]) known[name] = latest("made", scrape[name], known[name]);
  for (const name of ["phases", "roundTrips"]) known[name] = latest("made", scrape[name].series, known[name]);
  known.serving = latest("served", scrape.serving, known.serving);
  known.phaseBounds = scrape.phases.bounds;
  for (const name of ["target", "build"]) known[name] = labelsOf([...scrape[name].keys()].join());
  known.started = scrape.started.get("");
  if (step.from !== undefined) known.steps.push(step);
  known.steps = coarser(known.steps.filter(one => one.to > now - WINDOW), now);
  known.time = now;
}

// After a minute steps become as wide as those of the history, so that an open page has no more to draw than one that is new.
function coarser(steps, now) {
  const joined = [];
  for (const step of steps) {
    const before = joined[joined.length - 1];
    if (before && step.to < now - 60000 && step.to - before.from < 6500) join(before, step);
    else joined.push(step);
  }
  return joined;
}

// Puts a step into the one before it.
function join(before, step) {
  for (const name of SIDES) {
    for (const party of step[name].values()) add(sumFor(party, before[name], party.numbers.length - BUCKETS), party.numbers);
  }
  for (const one of step.failures.values()) fail(before, one.party, one.failure, one.count);
  before.to = step.to;
  before.sums = {};
}

// Other buckets: the app was restarted with another configuration.
function forgetOtherBuckets(name, { series, bounds }) {
  const side = known[name];
  if (!series.size || !side.bounds.length || side.bounds.join() === bounds.join()) return;
  side.series.clear();
  for (const step of known.steps) {
    step[name].clear();
    step.sums = {};
  }
}

function learnSide(name, histograms, step) {
  const side = known[name];
  if (histograms.series.size) side.bounds = histograms.bounds;
  const series = new Map();
  for (const [text, numbers] of histograms.series) {
    const before = side.series.get(text);
    const one = before || describe(name, text);
    if (one.failure) numbers[isRefusal(one.failure) ? REFUSED : ERRORS] = numbers[COUNT];
    // After a restart the counters begin at 0.
    const base = before && before.numbers[COUNT] <= numbers[COUNT] ? before.numbers : undefined;
    const growth = numbers[COUNT] - (base ? base[COUNT] : 0);
    if (growth > 0) {
      const sum = sumFor(one.party, step[name], numbers.length - BUCKETS);
      for (let i = 0; i < numbers.length; i++) sum[i] += numbers[i] - (base ? base[i] : 0);
      if (one.failure) fail(step, one.party, one.failure, growth);
    }
    one.numbers = Float64Array.from(numbers);
    series.set(text, one);
  }
  side.series = series;
}

// The sums of a party in a step.
function sumFor(party, parties, bucketCount) {
  let one = parties.get(party.key);
  if (!one) parties.set(party.key, one = { ...party, numbers: new Float64Array(BUCKETS + bucketCount) });
  return one.numbers;
}

const failureKey = (party, failure) => `${failure} ${party.key}`;

function fail(step, party, failure, count) {
  const key = failureKey(party, failure), before = step.failures.get(key);
  step.failures.set(key, { party, key, failure, count: count + (before ? before.count : 0) });
}

// The values of a scrape, each with whose it is. Labels are read once for each series.
function latest(side, values, before) {
  return new Map([...values].map(([text, value]) => {
    const labels = before.has(text) ? undefined : labelsOf(text);
    return [text, { ...(before.get(text) || { ...partyOf(side, labels), phase: labels.phase }), value }];
  }));
}

function describe(side, text) {
  const labels = labelsOf(text);
  return { labels, party: partyOf(side, labels), failure: failureOf(labels.error_type, labels.http_response_status_code) };
}

function add(total, numbers) {
  for (let i = 0; i < numbers.length; i++) total[i] += numbers[i];
  return total;
}

const nothing = bounds => new Float64Array(BUCKETS + bounds.length);

// What happened in a step to those who are chosen. It is added up once for each choice.
function sumOf(step, name) {
  if (step.sums[name]?.choice !== choiceKey) {
    const numbers = nothing(known[name].bounds);
    for (const party of step[name].values()) if (isChosen(party)) add(numbers, party.numbers);
    step.sums[name] = { choice: choiceKey, numbers };
  }
  return step.sums[name].numbers;
}

const HISTORY = "page/history";

// Puts the history in place of the steps of its time. Called right after a scrape.
function backfill(history) {
  const now = known.time, start = now - history.covered_s * 1000, width = history.slot_s * 1000;
  const steps = [];
  for (const slot of history.slots) {
    const from = Math.max(start, now - slot.age_s * 1000);
    const step = makeStep(from, Math.min(now, now - slot.age_s * 1000 + width));
    for (const totals of slot.totals) takeTotals(step, history, totals);
    steps.push(step);
  }
  // Slots in which nothing happened are not in the history.
  const filled = [];
  let end = start;
  for (const step of [...steps, makeStep(now, now)]) {
    while (step.from - end > 1) {
      const next = Math.min(step.from, end + width);
      filled.push(makeStep(end, next));
      end = next;
    }
    if (step.to > step.from) filled.push(step);
    end = step.to;
  }
  // A last step of less than two seconds would say little of a rate: it goes into the one before.
  const last = filled[filled.length - 1];
  if (filled.length > 1 && last.to - last.from < 2000) join(filled[filled.length - 2], filled.pop());
  known.steps = [...known.steps.filter(step => step.to <= start), ...filled].filter(step => step.to > now - WINDOW);
}

function takeTotals(step, history, [place, sum, failures, ...counts]) {
  const labels = history.parties[place], name = labels.direction === "inbound" ? "served" : "made";
  const side = known[name], bounds = [...history.bounds[labels.direction], Infinity], party = partyOf(name, labels);
  if (!side.bounds.length) side.bounds = bounds;
  const numbers = sumFor(party, step[name], side.bounds.length);
  numbers[SUM] += sum;
  for (const [failure, count] of Object.entries(failures)) {
    numbers[isRefusal(failure) ? REFUSED : ERRORS] += count;
    fail(step, party, failure, count);
  }
  counts.forEach((count, i) => {
    if (!count) return;
    numbers[COUNT] += count;
    // One bucket of the history is one of the metrics, or several where there are many: they share its requests.
    const inside = side.bounds.map((bound, j) => j)
      .filter(j => side.bounds[j] <= bounds[i] && (i === 0 || side.bounds[j] > bounds[i - 1]));
    for (const j of inside) numbers[BUCKETS + j] += count / inside.length;
  });
}

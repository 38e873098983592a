// What the page knows: reads the exposition as it arrives, adds the scrapes up, and puts the history of the process before them.
// Touches no document.
"use strict";

const DURATION = "http_client_request_duration_seconds", ACTIVE = "http_client_active_requests";
const PHASE = "http_client_request_phase_duration_seconds", OPENED = "http_client_connections_opened_total";
const SERVED = "http_server_request_duration_seconds", SERVING = "http_server_active_requests";
const ROUND_TRIP = "http_client_network_round_trip_seconds", SENT_AGAIN = "http_client_retransmitted_segments_total";
const NAMES = [DURATION, PHASE, ACTIVE, OPENED, ROUND_TRIP, SENT_AGAIN, SERVED, SERVING];
const METRICS = `metrics?${NAMES.map(name => `name[]=${name}`).join("&")}`;
const ESCAPES = { "\\n": "\n", "\\\\": "\\", '\\"': '"' };
// The places in an array of numbers: these three, then the requests in each bucket, not cumulative.
const COUNT = 0, SUM = 1, ERRORS = 2, BUCKETS = 3;

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
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const text = rest + value;
    let start = 0, end;
    while ((end = text.indexOf("\n", start)) >= 0) {
      take(text.slice(start, end));
      start = end + 1;
    }
    rest = text.slice(start);
    await breathe();
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

// Whose requests are made: what the filters choose by.
function partyOf(labels) {
  const port = labels.server_port;
  const host = labels.server_address === undefined ? "" : labels.server_address
    + (port === undefined || port === "443" || port === "80" ? "" : ":" + port);
  const client = labels.client || "";
  return { client, host, key: JSON.stringify([client, host]) };
}

// What is asked for in the requests that the app serves.
function routeOf(labels) {
  const method = labels.http_request_method || "", route = labels.http_route || "";
  return { method, route, key: JSON.stringify([method, route]) };
}

// One scrape: what each family has by the text of the labels.
class Scrape {
  made = new Histograms();
  served = new Histograms();
  phases = new Histograms();
  roundTrips = new Histograms();
  active = new Map();
  serving = new Map();
  opened = new Map();
  sentAgain = new Map();

  take(line) {
    const name = NAMES.find(name => line.startsWith(name));
    if (!name) return;
    const brace = line.indexOf("{"), space = line.lastIndexOf(" ");
    const suffix = line.slice(name.length, brace < 0 ? space : brace);
    const text = brace < 0 ? "" : line.slice(brace + 1, line.lastIndexOf("}")), value = Number(line.slice(space + 1));
    const histograms = { [DURATION]: this.made, [SERVED]: this.served, [PHASE]: this.phases, [ROUND_TRIP]: this.roundTrips }[name];
    if (histograms) histograms.take(suffix, text, value);
    else ({ [ACTIVE]: this.active, [SERVING]: this.serving, [OPENED]: this.opened, [SENT_AGAIN]: this.sentAgain })[name].set(text, value);
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
        this.#numbers = [0, 0, 0];
        this.#numbers.below = 0;
        this.series.set(text, this.#numbers);
      }
    }
    return this.#numbers;
  }
}

const WINDOW = 600000;

// The series as they were at the last scrape, of the requests that are made and of those that are served, and what happened
// between the scrapes of the last minutes. A step keeps sums by party, which is a client and host or a route, and only of
// those that had requests: its size does not depend on the number of series.
const known = { made: { series: new Map(), bounds: [], partyOf }, served: { series: new Map(), bounds: [], partyOf: routeOf },
  active: new Map(), serving: new Map(), phases: new Map(), opened: new Map(), roundTrips: new Map(), sentAgain: new Map(),
  steps: [], phaseBounds: [], time: undefined };
const SIDES = ["made", "served"];

const makeStep = (from, to) => ({ from, to, made: new Map(), served: new Map(), sums: {} });

function learn(scrape, now) {
  for (const name of SIDES) forgetOtherBuckets(name, scrape[name]);
  const step = makeStep(known.time, now);
  for (const name of SIDES) learnSide(known[name], scrape[name], step[name]);
  known.active = latest(scrape.active, known.active);
  known.serving = latest(scrape.serving, known.serving);
  known.phases = latest(scrape.phases.series, known.phases);
  known.phaseBounds = scrape.phases.bounds;
  known.opened = latest(scrape.opened, known.opened);
  known.roundTrips = latest(scrape.roundTrips.series, known.roundTrips);
  known.sentAgain = latest(scrape.sentAgain, known.sentAgain);
  if (step.from !== undefined) known.steps.push(step);
  known.steps = known.steps.filter(one => one.to > now - WINDOW);
  known.time = now;
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

function learnSide(side, histograms, parties) {
  if (histograms.series.size) side.bounds = histograms.bounds;
  const series = new Map();
  for (const [text, numbers] of histograms.series) {
    const before = side.series.get(text);
    const one = before || describe(text, side);
    if (one.isError) numbers[ERRORS] = numbers[COUNT];
    // After a restart the counters begin at 0.
    const base = before && before.numbers[COUNT] <= numbers[COUNT] ? before.numbers : undefined;
    if (numbers[COUNT] > (base ? base[COUNT] : 0)) {
      const sum = sumFor(one.party, parties, numbers.length - BUCKETS);
      for (let i = 0; i < numbers.length; i++) sum[i] += numbers[i] - (base ? base[i] : 0);
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

// The values of a scrape, each with whose it is. Labels are read once for each series.
function latest(values, before) {
  return new Map([...values].map(([text, value]) => {
    const labels = before.has(text) ? undefined : labelsOf(text);
    return [text, { ...(before.get(text) || { ...partyOf(labels), phase: labels.phase }), value }];
  }));
}

// A server's 4xx have no error_type: they say that the caller made the error.
function describe(text, side) {
  const labels = labelsOf(text);
  return { labels, party: side.partyOf(labels), isError: "error_type" in labels };
}

function add(total, numbers) {
  for (let i = 0; i < numbers.length; i++) total[i] += numbers[i];
  return total;
}

const nothing = bounds => new Float64Array(BUCKETS + bounds.length);

// What happened in a step to those who are chosen. It is added up once for each choice.
function sumOf(step, name, choice) {
  if (step.sums[name]?.key !== choice.key) {
    const numbers = nothing(known[name].bounds);
    for (const party of step[name].values()) if (choice.has(party)) add(numbers, party.numbers);
    step.sums[name] = { key: choice.key, numbers };
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
  joinLast(filled);
  known.steps = [...known.steps.filter(step => step.to <= start), ...filled].filter(step => step.to > now - WINDOW);
}

// A last step of less than two seconds would say little of a rate: it goes into the one before.
function joinLast(steps) {
  const [before, last] = steps.slice(-2);
  if (!last || last.to - last.from >= 2000) return;
  for (const name of SIDES) {
    for (const party of last[name].values()) add(sumFor(party, before[name], party.numbers.length - BUCKETS), party.numbers);
  }
  before.to = last.to;
  steps.pop();
}

function takeTotals(step, history, [place, sum, errors, ...counts]) {
  const labels = history.parties[place], name = labels.direction === "inbound" ? "served" : "made";
  const side = known[name], bounds = [...history.bounds[labels.direction], Infinity];
  if (!side.bounds.length) side.bounds = bounds;
  const numbers = sumFor(side.partyOf(labels), step[name], side.bounds.length);
  numbers[SUM] += sum;
  numbers[ERRORS] += errors;
  counts.forEach((count, i) => {
    if (!count) return;
    numbers[COUNT] += count;
    // One bucket of the history is one of the metrics, or several where there are many: they share its requests.
    const inside = side.bounds.map((bound, j) => j)
      .filter(j => side.bounds[j] <= bounds[i] && (i === 0 || side.bounds[j] > bounds[i - 1]));
    for (const j of inside) numbers[BUCKETS + j] += count / inside.length;
  });
}

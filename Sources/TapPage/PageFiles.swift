// swift-format-ignore-file
// Made by Tests/Scripts/embed-page from the files in Web: edit those, and run it.

/// The files of the page.
enum PageFiles {
  static let document = #"""
<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <link rel="icon" href="data:,">
  <title>SessionTap</title>
  <!-- The endpoint joins the scripts to one page.js. -->
  <link rel="stylesheet" href="page.css">
</head>
<body data-log="no" data-history="no">
  <header>
    <div>
      <h1 id="service">SessionTap</h1>
      <p id="about"></p>
    </div>
    <p id="status" role="status">Waiting for a scrape…</p>
    <details id="filters">
    <summary id="filtered">Filters</summary>
    <form aria-label="Filters">
      <label>Kind <select id="side"><option value="">all<option>made<option>served</select></label>
      <label>Client <select id="client"><option value="">all</select></label>
      <label>Host <select id="host"><option value="">all</select></label>
      <label>Path <select id="path"><option value="">all</select></label>
      <button type="button" id="all" hidden>Show all</button>
      <label>Time <select id="minutes"><option value="">all<option value="1">1 min<option value="2">2 min<option value="5">5 min<option value="10">10 min</select></label>
    </form>
    </details>
    <button type="button" id="pause" aria-pressed="false">Pause</button>
  </header>
  <noscript>This page needs JavaScript.</noscript>
  <main>
    <section id="none-yet" class="empty" hidden>
      <h2>No session goes through this tap yet</h2>
      <p>Make requests with a session of the tap:</p>
      <pre>let session = tap.session(client: "users")</pre>
    </section>
    <section id="now">
      <div id="waits-part" hidden>
        <div class="brief" data-table="waits"></div>
      </div>
      <div id="wrong-part">
        <div class="brief" data-table="wrong"></div>
      </div>
      <details id="refused-part" hidden>
        <summary id="refused-words"></summary>
        <div class="brief" data-table="refused"></div>
      </details>
      <details id="more-waits-part" hidden>
        <summary id="more-waits-words"></summary>
        <div class="brief" data-table="more-waits"></div>
      </details>
    </section>
    <section>
      <h2 id="charts-title">The last minutes</h2>
      <div class="sides" data-part="charts"></div>
      <details id="numbers">
        <summary>The charts in numbers</summary>
        <div class="sides" data-part="numbers"></div>
      </details>
    </section>
    <section>
      <h2 id="totals-title">Since the start</h2>
      <div class="sides" data-part="figures"></div>
      <p class="note">
        <b>≈</b> An estimate from a histogram's buckets, off by the width of one bucket at most.
        <b>&gt;</b> Beyond the last bucket. <b>4xx</b> Not an error here: the caller caused it.
      </p>
    </section>
    <section data-table="slowest"></section>
    <section data-side="made">
      <div id="phases-part" hidden>
        <h2 id="phases-title"></h2>
        <figure>
          <figcaption>
            <span id="phases-what"></span>
            <span class="legend" id="legend"></span>
          </figcaption>
          <ul id="phases"></ul>
        </figure>
      </div>
    </section>
    <section id="lines-part" hidden>
      <form aria-label="Search">
        <label>Show <select id="only"><option value="">all<option value="failed">errors and 4xx<option>errors</select></label>
        <label>Slower than <input id="slower" type="number" min="0" step="any"> ms</label>
        <label>With <input id="text" type="search" placeholder="text or trace"></label>
        <span id="found"></span> <span id="log-trouble" class="failed"></span>
      </form>
      <div data-table="lines"></div>
    </section>
  </main>
  <aside id="drawer" aria-labelledby="drawer-title" hidden>
    <button id="drawer-close">Close</button>
    <h2 id="drawer-title" tabindex="-1"></h2>
    <div id="drawer-content"></div>
  </aside>
  <footer><a href="metrics">/metrics</a> <a href="healthz">/healthz</a></footer>
  <script src="page.js"></script>
</body>
</html>

"""#

  static let style = #"""
:root {
  color-scheme: light dark;
  --back: light-dark(#f6f6f4, #161615);
  --card: light-dark(#fff, #20201e);
  --text: light-dark(#1c1c1a, #eee);
  --soft: light-dark(#5c5c57, #a9a9a2);
  --line: light-dark(#dcdcd6, #3a3a36);
  --one: light-dark(#0b63c5, #7cb8ff);
  --two: light-dark(#8a5a00, #f0b94d);
  --three: light-dark(#b3261e, #ff8f85);
  --edge: 1px solid var(--line);
  --rim: 1px solid var(--soft);
  --processing: light-dark(#003ace, #1c5eff);
  --transfer: light-dark(#02a2b8, #90f2ff);
}
* { box-sizing: border-box; margin: 0; padding: 0; min-width: 0; }
body { margin: 0 auto; max-width: 80rem; padding: 1rem; background: var(--back); color: var(--text);
  font: 1rem/1.45 system-ui, sans-serif; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
header, form, label, .legend, .now, #phases p, figcaption { display: flex; flex-wrap: wrap; gap: .3rem 1rem; align-items: center; }
label { flex-wrap: nowrap; gap: .5rem; }
label, dt, th, summary, figcaption, .scale, .times, .note, .none, #about, #status, #found, #phases p, .waterfall,
td::before { color: var(--soft); }
dt, figcaption, pre, .note, #about, #phases p, .waterfall { font-size: .85rem; }
ul, ol { list-style: none; }
h1 { font-size: 1.25rem; }
h2, h3 { font-size: 1rem; }
section, details, footer, h3 { margin-top: 1rem; }
h2, .note, form, .trouble, .verdict { margin: .5rem 0; }
.failed, .trouble { font-weight: bold; }
b { color: var(--text); }
/* Parts out of sight are neither laid out nor painted every two seconds. */
section { content-visibility: auto; contain-intrinsic-size: auto 30rem; }
select, button, input { font: inherit; color: inherit; background: var(--card); border: var(--rim); border-radius: .4rem;
  padding: .3rem .6rem; min-height: 2.5rem; max-width: 14rem; }
#status { margin-left: auto; }
#filters { order: 1; margin: 0; padding: .5rem 0; border: 0; background: none; }
#pause { order: 2; }
#slower { width: 5rem; }
[aria-pressed=true] { background: var(--text); color: var(--back); }
:focus-visible { outline: solid var(--one) !important; }
.failed, .trouble, .brief .ERROR .link, #lines .ERROR :is(:nth-child(2), :nth-child(6), .number) { color: var(--three) !important; }
.brief .WARN .link, #lines .WARN :is(:nth-child(2), :nth-child(6), .number) { color: var(--two); }
/* What hangs and what is wrong now: a sentence, and rows if there are any. */
#now { --now: var(--three); }
#now .slow, #waits-part { --now: var(--two); }
#now .quiet { --now: var(--one); }
#now > div .scroll { border-left: .3rem solid var(--now); margin-bottom: .5rem; }
.quiet :is(thead, tbody) { display: none; }
#waits-title, #wrong-title { margin: .2rem 0; }
dl { display: grid; gap: .5rem; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); }
dl div, figure, .scroll, details, .empty { background: var(--card); border: var(--edge); border-radius: .5rem;
  padding: .6rem .8rem; }
dd { font-size: 1.2rem; overflow-wrap: normal; }
dd ~ dd, dd:has(small) { font-size: .9rem; }
dd small { color: var(--soft); }
.sides, .side { display: grid; gap: .75rem; align-items: start;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); }
[hidden], .is-empty section:not(.empty, #lines-part) { display: none !important; }
figcaption, #phases p:first-child, .scale, .times { display: flex; justify-content: space-between; }
.key::before, .phase::before { content: ""; display: inline-block; width: 1rem; margin-right: .4rem; border-top: solid var(--one);
  vertical-align: middle; }
.key.two::before { border-top: dashed var(--two); }
.key.three::before { border-top: dotted var(--three); }
.plot { display: grid; grid-template-columns: 3.6rem 1fr; gap: .25rem .5rem; margin-top: .5rem; }
.scale, .times { font-size: .75rem; line-height: 1; white-space: nowrap; }
.scale { flex-direction: column; text-align: right; }
.times { grid-column: 2; }
.area, .track { position: relative; }
.cross { position: absolute; inset: 0 auto 0 0; border-left: 1px solid; pointer-events: none; }
canvas:not([id$=heat]) { background: linear-gradient(var(--line) 1px, #0000 1px) 0 0 / 100% 50%; }
canvas { display: block; width: 100%; height: 8.5rem; border: solid var(--line); border-width: 0 0 1px 1px; }
/* The phases. Any two are at least 0.18 apart in OKLab, light and dark, also for those who see no red, */
/* no green or no blue (simulated as Machado, 2009). Three have lines, each in a direction of its own, */
/* which a narrow piece shows too. The piece of two phases has stripes of both. Grey is time in no phase. */
.resolve { --phase: light-dark(#7b2c52, #f26ba4); }
.connect { --phase: light-dark(#dd5a07, #ffd43e); }
.tls { --phase: light-dark(#260905, #9d5e13); }
.processing { --phase: var(--processing); }
.transfer { --phase: var(--transfer); }
.response { --phase: repeating-linear-gradient(90deg, var(--processing) 0 3px, var(--transfer) 3px 6px); }
.unknown { --phase: var(--line); }
.queue { --lines: 45deg, var(--soft); }
.upload { --lines: 90deg, var(--transfer); }
.local { --lines: 0deg, var(--text); }
.trip { --lines: 135deg, var(--processing); }
.phase::before, .bar span, .track > :not(.bar) {
  background: var(--phase, repeating-linear-gradient(var(--lines) 0 3px, #0000 3px 6px)); }
.phase::before { height: .8rem; border: var(--rim); }
#phases li { margin-top: .9rem; }
.bar { display: flex; gap: 1px; height: 1.1rem; margin: .2rem 0; border: var(--rim); }
.bar span { flex: 0 1 0; }
.scroll { overflow-x: auto; }
details .scroll { border: 0; padding: 0; }
table { width: 100%; border-collapse: collapse; font-size: .9rem; }
caption, th, td { text-align: left; }
th, td { padding: .3rem 1rem .3rem 0; border-bottom: var(--edge); vertical-align: top; }
td { min-width: 7rem; max-width: 28rem; }
th, td.number, #lines td:first-child { white-space: nowrap; }
.link { all: unset; }
a, .link { color: var(--one); }
button, summary, tr:has(.link):hover { cursor: pointer; }
tr:has(.link):hover { background: var(--back); }
.number { text-align: right; min-width: 0; }
pre { white-space: pre-wrap; }
#drawer { position: fixed; z-index: 1; inset: 0 0 0 auto; width: min(48rem, 100%); overflow: auto; padding: 1rem; background: var(--back);
  border-left: var(--rim); }
#drawer-close { position: sticky; top: 0; z-index: 1; display: block; margin-left: auto; }
.cut { border-right: .3rem solid var(--three); }
.facts { display: grid; gap: .1rem 1rem; grid-template-columns: repeat(auto-fill, minmax(min(100%, 21rem), 1fr)); }
.facts div { display: flex; gap: .6rem; border: 0; padding: 0; background: none; }
.facts dt { flex: 0 0 7.5rem; }
.facts dd { font-size: .9rem; overflow-wrap: anywhere; }
.step { display: grid; grid-template-columns: 15rem 1fr 7rem; gap: .1rem .75rem; align-items: center; padding: .15rem 0; }
button.step { width: 100%; max-width: none; min-height: 0; text-align: left; background: none; border: 0; }
.step[aria-current], button.step:hover { background: var(--card); color: var(--text); }
.track { height: 1rem; overflow: hidden; border-bottom: var(--edge); }
.track > * { position: absolute; height: 100%; min-width: 2px; max-width: 100%; margin: 0; }
.track .bar { border: 0; gap: 0; }
.track .bar:empty { background: var(--soft); }
.track .bar.served { background: none; border: 2px solid var(--soft); }
@media (min-width: 60rem) {
  #lines td { min-width: 0; overflow-wrap: break-word; }
  #lines td:nth-child(5) { min-width: 14rem; overflow-wrap: anywhere; }
  header { position: sticky; top: 0; z-index: 1; background: var(--back); }
  #filters summary { display: none; }
}
/* On a narrow screen each row is a card: its subject, then the rest in as few lines as possible. */
@media (max-width: 60rem) {
  table, tbody, caption { display: block; }
  thead { display: none; }
  tbody tr { display: flex; flex-wrap: wrap; gap: 0 .5rem; border-top: var(--edge); padding: .4rem 0; }
  tr * { border: 0; padding: 0; }
  td { min-width: 0; max-width: none; font-size: .8rem; white-space: nowrap; }
  td:empty, .brief td:nth-child(4) { display: none; }
  td:first-child { flex: 0 0 100%; font-size: .9rem; font-weight: bold; white-space: normal; }
  td + td::before { content: attr(data-name) "\a0"; }
  .brief td:first-child { flex: 1; font-weight: normal; }
  .brief td:first-child *, .brief td:nth-child(2) { display: block; max-width: 100%; overflow: hidden;
    text-overflow: ellipsis; white-space: nowrap; }
  .brief td + td { order: 2; }
  .brief td.number { order: 0; font-size: .9rem; }
  .brief td:nth-child(n + 6) { order: 4; }
  #waits td:last-child, #more-waits td:last-child { white-space: normal; }
  .brief tr::before, .brief tr::after { content: ""; order: 3; flex: 0 0 100%; }
  .brief tr::after { order: 1; }
  .brief td:nth-child(2) { flex: 1 1 0; }
  .brief td:nth-child(-n + 5)::before, #lines td::before { content: none; }
  #lines td:first-child { flex: none; font-size: .8rem; font-weight: normal; }
  #lines td:nth-child(5) { order: -1; flex: 0 0 80%; font-size: .9rem; white-space: normal; }
  #lines td:nth-child(6) { order: -1; margin-left: auto; font-size: .9rem; }
  .step { grid-template-columns: 1fr auto; }
  .track { grid-row: 2; grid-column: 1 / 3; }
  dd { font-size: 1rem; }
  dl { grid-template-columns: 1fr 1fr; gap: .4rem; }
  dl div { padding: .3rem .6rem; }
  #filters { flex: 1 0 7rem; }
  #filters[open] { flex-basis: 100%; }
  #pause { align-self: start; }
}

"""#

  static let script = #"""
// The choices of the reader. They are in the address, so they survive a reload and can be sent to a
// colleague.
"use strict";

const CHOICES = ["side", "client", "host", "path", "minutes", "only", "slower", "text", "request", "trace"];
const FILTERS = CHOICES.slice(0, 4);
const chosen = {};
// Identifies the choice of parties, for sums that are kept.
let choiceKey = "";

function take(changes) {
  Object.assign(chosen, changes);
  choiceKey = JSON.stringify(FILTERS.map(name => chosen[name]));
}

function readAddress() {
  const there = new URLSearchParams(location.hash.slice(1));
  take(Object.fromEntries(CHOICES.map(name => [name, there.get(name) || ""])));
}

// The browser's Back undoes what a click opened or filtered, but not each letter of a text.
function choose(changes, isStep = true) {
  take(changes);
  const there = new URLSearchParams(CHOICES.filter(name => chosen[name]).map(name => [name, chosen[name]]));
  history[isStep ? "pushState" : "replaceState"](null, "", `#${there}`);
  show();
}

const isChosen = party => FILTERS.every(name => !chosen[name] || party[name] === chosen[name]);

// Gauges and connections have no path: client and host decide.
const isChosenServer = party => isChosen({ ...party, path: chosen.path });

readAddress();
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
// The lines of the log: reads new ones and searches them. Does not use the document.
const hasLog = document.body.dataset.log === "yes";
// More than the process keeps by default, so that older lines stay while the page is open.
const KEPT_LINES = 5000;
// Oldest first. `last` is the number of the newest line; the next answer begins after it.
const log = { lines: [], last: "" };

async function readLog() {
  const answer = await get(`logs?limit=${KEPT_LINES}${log.last && `&after=${log.last}`}`), lines = [];
  const last = answer.headers.get("Session-Tap-Last-Line") || "";
  await readLines(answer, text => lines.push(lineOf(text)));
  // An answer of another server has no number: it has all lines.
  log.lines = last && log.last ? [...log.lines, ...lines].slice(-KEPT_LINES) : lines;
  log.last = last;
}

const textOf = value => value && typeof value === "object" ? JSON.stringify(value) : `${value ?? ""}`;
const LABELS = ["client.name", "server.address", "server.port", "url.template", "http.route", "http.request.method"]
  .map(name => [name.replace(".name", "").replaceAll(".", "_"), name]);

const sideOf = event => event.startsWith("http.client.") ? "made" : event.startsWith("http.server.") ? "served" : "";

// A line with the values that are used often. They may have any type, because an app writes fields of its
// own.
function lineOf(text) {
  let fields;
  try { fields = JSON.parse(text); } catch { }
  if (!fields || typeof fields !== "object") fields = { message: text };
  const of = name => textOf(fields[name]), numberOf = name => typeof fields[name] === "number" ? fields[name] : undefined;
  const labels = Object.fromEntries(LABELS.map(([label, name]) => [label, of(name)]));
  const seconds = numberOf("duration_s"), end = timeOf(of("timestamp"));
  return { text, fields, of, numberOf, party: partyOf(sideOf(of("event")), labels), seconds, end,
    start: end - 1000 * (seconds || 0), trace: of("trace_id"), key: keyOf(of) || text,
    failure: failureOf(of("error.type"), codeOf({ of })) || (of("severity") === "ERROR" ? "_OTHER" : "") };
}

// A request is known by its end and its span. A line that the app writes while it serves the request has the
// same span.
const keyOf = of => ["timestamp", "span_id", ...sideOf(of("event")) ? [] : ["message"]].map(of).filter(Boolean).join(" ");

// In milliseconds since 1970, with the microseconds of the line as a fraction: Date.parse would drop them.
const timeOf = text => text.length < 20 ? NaN : Date.parse(`${text.slice(0, 19)}Z`) + Number(`0${text.slice(19, -1)}`) * 1000;

const codeOf = ({ of }) => of("http.response.status_code");
// How the request ended. It may fail or be cancelled after the head of a 200.
const statusOf = ({ of }) => of("error.type") || of("outcome") === "cancelled" && "cancelled" || codeOf({ of }) || of("outcome");
const kindOf = ({ of, party }) => of("event").endsWith(".waiting") ? "waits" : party.side;
const clockOf = line => line.of("timestamp").slice(11, 23);
// The method and the URL of a request, or the message of a line of the app.
const requestOf = ({ of, party }) => of("http.request.method")
  ? `${of("http.request.method")} ${of("url.full") || of("url.path") || party.path || "–"}` : of("message") || of("event");

const isWanted = failure => !chosen.only || (chosen.only === "failed" ? failure : failure && !isRefusal(failure));

// The lines that match the search, newest first.
function foundLines() {
  const text = chosen.text.trim().toLowerCase(), slower = Number(chosen.slower) || 0;
  return log.lines.filter(line => isChosen(line.party) && isWanted(line.failure) && (!slower || line.seconds * 1000 >= slower)
    && (!text || line.text.toLowerCase().includes(text))).reverse();
}

// The newest line of each failure.
const newestFailures = () => new Map(log.lines.filter(line => line.failure)
  .map(line => [failureKey(line.party, line.failure), line]));
// Numbers as text, elements, and the charts.

// Estimates a quantile as PromQL's histogram_quantile does: linear within a bucket; beyond the last finite
// bound, that bound. Such an estimate may exceed the slowest request, so the sum of all values limits it: the
// m highest values of the bucket are at least as high as the quantile, and each other value is at least the
// lower bound of its own bucket.
function estimate(q, numbers, bounds) {
  const counts = numbers.slice(BUCKETS), lowest = bounds.map((bound, i) => i ? bounds[i - 1] : 0);
  const least = counts.reduce((sum, count, i) => sum + count * Math.max(0, lowest[i]), 0);
  const rank = q * counts.reduce((a, b) => a + b, 0);
  if (!rank) return { value: NaN };
  let below = 0;
  for (const [i, count] of counts.entries()) {
    const lower = lowest[i];
    if (count > 0 && below + count >= rank) {
      if (bounds[i] === Infinity) return { value: lower, isBeyond: true };
      const most = lower + Math.max(0, numbers[SUM] - least) / (Math.floor(below + count - rank) + 1);
      return { value: Math.min(lower + (bounds[i] - lower) * ((rank - below) / count), most) };
    }
    below += count;
  }
  return { value: lowest[lowest.length - 1], isBeyond: true };
}

// Marks an estimate, and a value beyond the last bucket.
function quantileText(q, { numbers, bounds }) {
  const { value, isBeyond } = estimate(q, numbers, bounds);
  return isFinite(value) ? `${isBeyond ? ">" : "≈"}\u00a0${seconds(value)}` : "–";
}

// Writes a number with three digits, in the largest unit that fits.
function scaled(value, units) {
  if (!isFinite(value)) return "–";
  const [unit, factor] = units.find(([, factor]) => value >= 0.9995 * factor) || units[units.length - 1];
  return `${Number((value / factor).toPrecision(3))}\u00a0${unit}`;
}
const seconds = value => scaled(value, value ? [["s", 1], ["ms", 1e-3], ["µs", 1e-6]] : [["ms", 1]]);
const bytes = value => scaled(value, [["GB", 1e9], ["MB", 1e6], ["kB", 1e3], ["B", 1]]);
const percent = value => scaled(value * 100, [["%", 1]]);
const number = value => isFinite(value) ? value.toLocaleString("en-US", { maximumFractionDigits: value < 10 ? 2 : value < 100 ? 1 : 0 }) : "–";
const plural = (count, word) => `${number(count)} ${word}${count === 1 ? "" : "s"}`;
const share = (numbers, place) => numbers[COUNT] ? numbers[place] / numbers[COUNT] : 0;
// Times are UTC and have 24 hours, as in the log. The page says so once, in its head.
const dateAndTime = milliseconds => Math.abs(milliseconds) < 8e15 ? new Date(milliseconds).toISOString().replace("T", " ").slice(0, -1) : "";
const clock = time => dateAndTime(epoch + time).slice(11, 19);

const $ = id => document.getElementById(id), all = selector => document.querySelectorAll(selector);

// Makes an element from its name and classes. An object argument has attributes and handlers; every other
// argument is content. Text from the metrics or the log becomes text of the document, never markup.
function element(kind, ...content) {
  const [name, ...classes] = kind.split("."), node = document.createElement(name);
  if (classes.length) node.className = classes.join(" ");
  for (const one of content) {
    if (one?.constructor !== Object) node.append(...[one ?? ""].flat());
    else for (const [key, value] of Object.entries(one)) {
      if (typeof value === "function") node[key] = value;
      else node.setAttribute(key, value);
    }
  }
  return node;
}

function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

const HIDDEN = { "aria-hidden": true };
const QUANTILES = [.5, .9, .99], LINES = ["one", "two", "three"], DASHES = [[], [7, 4], [1, 4]];
const rateOf = (count, { from, to }) => count * 1000 / (to - from);
// For each chart: its subject, its lines, their values in a step, the text of a value, and the least top of
// the scale. The scale of the latency is logarithmic, so that a p99 of seconds does not hide a p50 of
// milliseconds.
const CHARTS = {
  rate: ["per second", [""], (sum, step) => [rateOf(sum[COUNT], step)], number, 1],
  share: ["that failed", ["errors", "4xx"], sum => [ERRORS, REFUSED].map(place => share(sum, place)), percent, 0.01],
  latency: ["by percentile of their latency", ["p50", "p90", "p99"],
    (sum, step, bounds) => QUANTILES.map(q => estimate(q, sum, bounds).value), seconds, 0.001, true],
  heat: ["by latency", [""]],
};
const titleOf = (side, name) => `Requests ${side} ${CHARTS[name][0]}`;

function makeChart(side, name) {
  const id = `${side}-${name}`, title = titleOf(side, name), keys = CHARTS[name][1].map((key, i) =>
    element(key ? `span.key.${LINES[i]}` : "span", `${key} `, element("b", { id: `${id}-now-${i}` }, "–")));
  const scale = element("div.scale", HIDDEN, { id: `${id}-scale` }, [0, 1, 2].map(() => element("span")));
  return element("figure", element("figcaption", element("span", title), element("span.now", keys)),
    element("div.plot", scale,
      element("div.area", element("canvas", { id, role: "img", "aria-label": title }), element("i.cross", { hidden: "" })),
      element("div.times", HIDDEN, element("span.from"), element("b.moment"), element("span", "now"))));
}

// What the charts show: the chosen steps, the time that they cover, and for each chart a function that
// describes a step in words. Without a choice the charts begin with the last minute, and cover more as more
// is known.
const shown = { steps: [], span: 60000, time: NaN, words: {}, colours: [] };

function setSpan() {
  const start = chosen.minutes ? known.time - 60000 * chosen.minutes : -Infinity;
  shown.steps = known.steps.filter(step => step.to > start);
  shown.time = known.time;
  shown.span = 60000 * chosen.minutes || [60000, 120000, 300000].find(span => span >= covered() * 1000) || WINDOW;
}

// In seconds.
const covered = () => shown.steps.length ? (shown.time - shown.steps[0].from) / 1000 : 0;
const across = (time, width) => width * (1 - (shown.time - time) / shown.span);

// The smallest of 1, 2, 5, 10, 20, … that is at least the value.
function roundTop(value, least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, least)));
  return [1, 2, 5, 10].map(step => step * power).find(top => top >= value * 0.999) || least;
}

// Draws a line for each column, interrupted where there is no value. The values of a step are kept with its
// sums, because most steps never change.
function drawLines(context, sums, { bounds }, id, [, keys, valuesOf, format, least, isLogarithmic]) {
  const { width, height } = context.canvas, rows = sums.map((sum, i) => sum[id] ??= valuesOf(sum, shown.steps[i], bounds));
  const highest = Math.max(...rows.flat().filter(isFinite), 0), top = roundTop(highest, isLogarithmic ? 10 * least : least);
  const unit = devicePixelRatio, said = value => isFinite(value) ? (isLogarithmic ? "≈\u00a0" : "") + format(value) : "–";
  context.lineWidth = 2 * unit;
  keys.forEach((key, column) => {
    context.strokeStyle = shown.colours[column];
    context.setLineDash(DASHES[column].map(length => length * unit));
    context.beginPath();
    rows.forEach(({ [column]: value }, i) => {
      if (!isFinite(value)) return;
      const part = isLogarithmic ? Math.max(0, Math.log(value / least) / Math.log(top / least)) : value / top;
      const y = 2 * unit + (height - 4 * unit) * (1 - part), { from, to } = shown.steps[i];
      context[isFinite(rows[i - 1]?.[column]) ? "lineTo" : "moveTo"](across(from, width), y);
      context.lineTo(across(to, width), y);
    });
    context.stroke();
  });
  const words = i => keys.map((key, column) => said(rows[i]?.[column]));
  return { words, scale: (isLogarithmic ? [top, Math.sqrt(top * least), least] : [top, top / 2, 0]).map(format),
    summary: `now ${words(rows.length - 1).join(", ")}; highest ${said(highest)}` };
}

const bucketName = (bounds, i) => bounds[i] === Infinity ? `over ${seconds(bounds[i - 1])}` : `up to ${seconds(bounds[i])}`;

// Draws a column for each step and a row for each bucket. The colour is stronger where there are more
// requests in a second.
function drawHeat(context, sums, { bounds }, id) {
  const { width, height } = context.canvas, count = Math.max(bounds.length, 1), finite = bounds.filter(isFinite);
  const rates = sums.map((sum, i) => sum[id] ??= Array.from(sum.subarray(BUCKETS), count => rateOf(count, shown.steps[i])));
  const positive = rates.flat().filter(rate => rate > 0), highest = Math.max(...positive), lowest = Math.min(...positive);
  context.fillStyle = shown.colours[0];
  rates.forEach((rate, i) => {
    const left = Math.floor(across(shown.steps[i].from, width)), right = Math.ceil(across(shown.steps[i].to, width));
    rate.forEach((value, row) => {
      if (!(value > 0)) return;
      const box = [left, Math.floor((count - 1 - row) * height / count), right - left, Math.ceil(height / count)];
      context.globalAlpha = 0.2 + 0.8 * Math.log1p(value / lowest) / Math.log1p(highest / lowest);
      context.clearRect(...box);
      context.fillRect(...box);
    });
  });
  // Describes the bucket under the pointer, or else the strongest bucket of the step.
  const words = i => {
    const rate = rates[i] || [], isHere = pointer?.id === id;
    const row = isHere ? Math.min(count - 1, Math.floor((1 - pointer.y) * count)) : rate.indexOf(Math.max(...rate));
    return [isHere || rate[row] > 0 ? `${bucketName(bounds, row)}: ${number(rate[row] || 0)}/s` : "–"];
  };
  const [least, middle, last] = [0, finite.length >> 1, finite.length - 1].map(i => seconds(finite[i]));
  return { words, scale: [`> ${last}`, middle, `≤ ${least}`], summary: positive.length
    ? `from ${least} to over ${last}; at most ${number(highest)} requests a second in one bucket` : "none yet" };
}

function drawChart(side, name, sums) {
  const id = `${side}-${name}`, canvas = $(id), context = canvas.getContext("2d");
  context.clearRect(0, 0, canvas.width, canvas.height);
  const { words, scale, summary } = (name === "heat" ? drawHeat : drawLines)(context, sums, known[side], id, CHARTS[name]);
  scale.forEach((text, i) => setText($(`${id}-scale`).children[i], text));
  shown.words[id] = words;
  canvas.ariaLabel = `${titleOf(side, name)}: ${summary}`;
}

function charts() {
  for (const side of SIDES.filter(isSideShown)) {
    const sums = shown.steps.map(step => sumOf(step, side));
    for (const name of Object.keys(CHARTS)) drawChart(side, name, sums);
  }
  for (const node of all(".from")) setText(node, `${shown.span / 60000} min ago`);
  readOut();
}

// Reads the size and the colours of the charts. It is called only when they may have changed, because it
// makes the browser lay out the page.
function fit() {
  for (const canvas of all("canvas")) {
    canvas.width = canvas.clientWidth * devicePixelRatio;
    canvas.height = canvas.clientHeight * devicePixelRatio;
    shown.colours = LINES.map(name => {
      canvas.style.color = `var(--${name})`;
      return getComputedStyle(canvas).color;
    });
  }
  redraw();
}

// Where the pointer is on a chart: `x` and `y` from 0 to 1.
let pointer;

// All charts show their values at the moment under the pointer, or else at the last moment.
function readOut() {
  const time = pointer && shown.time - (1 - pointer.x) * shown.span;
  const index = pointer ? shown.steps.findIndex(step => step.from <= time && time < step.to) : shown.steps.length - 1;
  for (const [id, words] of Object.entries(shown.words)) words(index).forEach((text, i) => setText($(`${id}-now-${i}`), text));
  for (const node of all(".moment")) setText(node, pointer ? clock(time) : "");
  for (const node of all(".cross")) {
    node.hidden = !pointer;
    if (pointer) node.style.left = `${100 * pointer.x}%`;
  }
}

function point({ target, clientX, clientY }) {
  const area = target.closest?.(".area"), box = area?.getBoundingClientRect(), before = pointer;
  pointer = area && { id: area.firstChild.id, x: (clientX - box.left) / box.width, y: (clientY - box.top) / box.height };
  if (before || pointer) readOut();
}
// Figures and tables: the cells of each row, and what a click on a row does.
const FAILURES = { timeout: "no complete response in time", dns: "the host's name could not be resolved",
  connect: "no connection could be made", connection_lost: "the connection broke",
  tls: "the TLS handshake failed, or the certificate was refused",
  body: "a body could not be read or stored",
  404: "Not Found", 500: "Internal Server Error",
  502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout" };
const failureText = failure => FAILURES[failure] ? `${failure}${failure > 0 ? "" : ":"} ${FAILURES[failure]}` : failure;

const filterBy = ({ side, client, host, path }) => choose({ side, client, host, path });
const serverKey = ({ client, host }) => JSON.stringify([client, host]);

// A column has a name and a value. With `as`, it is a column of numbers, and `as` gives their text. With
// `act`, it has buttons.
const column = (name, of, as, act) => ({ name, of, as, act }), link = (name, of, act) => column(name, of, undefined, act);
const clientOf = one => one.client || one.side;
const pathOf = one => `${one.method} ${one.path}`.trim() || "–";
const CLIENT = column("Client", clientOf), HOST = column("Host", one => one.host || "–");
const NOW = [link("What", one => one.words, row => openRow(row)),
  column("Request", one => requestIn(one)), CLIENT, HOST,
  column("Requests", one => one.count, (count, one) => `${number(count)} of ${number(one.all)}`),
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
  refused: { title: "4xx", columns: NOW },
  slowest: { title: "Requests, the slowest by p99 first", columns: [link("Request", pathOf, row => openRow(row)),
    link("Client", clientOf, filterBy), HOST, REQUESTS, ...SHARES, MEAN, P99] },
  lines: { title: "The newest 100 lines of the log", limit: 100, columns: [
    link("Time", line => clockOf(line) || "–", line => openLine(line)), column("Severity", ({ of }) => of("severity")),
    column("Kind", kindOf), column("Client", ({ party }) => party.client), column("Request", requestOf), column("Status", statusOf),
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
    element("caption", element(/by-|refused|more/.test(id) ? "h3" : "h2", { id: label }, title)), element("thead", element("tr", heads)),
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
    columns.forEach(({ of, as, act }, i) => {
      const value = of(one), text = as ? as(value, one) : value, cell = row.cells[i];
      setText(act ? cell.firstChild : cell, text);
      if (act) cell.firstChild.hidden = !text;
    });
    return row;
  });
  if (!rows.length) rows.push(there.get("")
    || element("tr", { "data-key": "" }, element("td.none", { colspan: columns.length }, "None.")));
  for (const row of [...body.rows]) if (!rows.includes(row)) row.remove();
  rows.forEach((row, i) => { if (body.rows[i] !== row) body.insertBefore(row, body.rows[i] || null); });
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
// Whether the steps are complete for the time that is shown, and for a minute at least.
const isWhole = place => shown.steps[0]?.from >= known.since[place] && shown.time - known.since[place] >= 60000;
const sumsOf = (place, isRecent) => isRecent ? inSteps(place) : seriesOf(place);
const setTitle = (id, text, isRecent) => setText($(`${id}-title`), text + (isRecent ? ", in these minutes" : ", since the start"));

const sum = list => list.reduce((sum, one) => sum + one.numbers[COUNT], 0);

// The tiles of one side: titles and texts for the chosen parties.
function figuresOf(side) {
  const isMade = side === "made", { bounds } = known[side], numbers = nothing(bounds);
  for (const one of seriesOf(side)) if (isChosen(one)) add(numbers, one.numbers);
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
  const isRecent = isWhole("made"), list = SIDES.flatMap(side => requestRows(side, sumsOf(side, isRecent)));
  setTitle("slowest", TABLES.slowest.title, isRecent);
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
// What failed and what was slow in the last minute, or in the chosen time: a sentence, and a row for each
// kind.
const MINUTE = 60000;
// In seconds. The recording rules use the same bound for the Apdex.
const SLOW = 1;

// Only whole steps count: the sum may lack the oldest seconds of the time, but has nothing older.
const isNow = step => step.from > known.time - MINUTE * (chosen.minutes || 1) - 500;

// The begin of the last series of such steps without a gap of a minute, and the end of the last step.
function timesOf(isIn) {
  let first, last;
  for (const step of known.steps.toReversed()) {
    if (first?.from - step.to > MINUTE) break;
    if (isIn(step)) [first, last] = [step, last || step];
  }
  // The history begins with the app, or ten minutes ago.
  const isOlder = first === known.steps[0] && !(hasHistory && known.time - first.from < WINDOW - 10000);
  return { since: (isOlder ? "before " : "") + clock(first.from), last: clock(last.to) };
}

function failuresNow(steps, rows) {
  const newest = newestFailures();
  return grouped(steps.flatMap(step => [...step.failures.values()]), [], one => one.key).map(one => {
    return { ...one, ...timesOf(step => step.failures.has(one.key)), line: newest.get(one.key), severity: "ERROR",
      words: failureText(one.failure), count: one.numbers[COUNT], all: rows.get(requestKey(one)).numbers[COUNT] };
  }).sort((a, b) => weightOf(b) - weightOf(a));
}

// The order of the rows: by count and share, so that what always fails stands above what mostly works. A made
// request counts twice, because it may be the cause of a served one's failure.
const weightOf = ({ count, all, side }) => count * count / all * (side === "made" ? 2 : 1);

const boundOf = ({ side }) => known[side].bounds.findIndex(bound => bound >= SLOW);
const longOf = one => one.numbers.slice(BUCKETS + boundOf(one) + 1).reduce((a, b) => a + b, 0);

// A row is slow if one request in ten took long, or if its mean is three times that of the time before.
// Time-outs count as failures.
function slowNow(row, before, timeouts) {
  const all = row.numbers[COUNT], long = longOf(row) - timeouts, isLong = long > 0 && long >= all / 10;
  const mean = MEAN.of(row), usual = before ? MEAN.of(before) : NaN;
  if (!isLong && !(!timeouts && Math.min(all, before?.numbers[COUNT]) >= 10 && mean > 3 * usual && mean - usual > .05)) return [];
  const isIn = one => requestKey(one) === row.key && (isLong ? longOf(one) > 0 : MEAN.of(one) > 3 * usual);
  return [{ ...row, ...timesOf(step => [...step[row.side].values()].some(isIn)), key: `slow ${row.key}`, severity: "WARN",
    line: !row.path && slowestOf(row, log.lines),
    words: isLong ? `took over ${seconds(row.bounds[boundOf(row)])}` : "were slower than before", count: isLong ? long : all, all,
    mean: `${seconds(mean)} on average${before ? `, ${seconds(usual)} before` : ""}` }];
}

// Without a template, a row has all paths of its host: the path of a line is an example.
const requestIn = one => one.path || !one.line ? pathOf(one) : `${nameOf(one.line)}, …`;

function sentenceOf([first, ...others], ended) {
  const time = `in the last ${chosen.minutes > 1 ? `${chosen.minutes} minutes` : "minute"}`;
  if (!ended) return `No request has ended ${time}, ${number(sum(seriesOf("active").filter(isChosenServer)))} active.`;
  if (!first) return `Nothing failed and nothing was slow ${time}: ${plural(ended, "request")}.`;
  const { count, all, side, host, method, path, line, failure, words } = first;
  return `${number(count)} of ${plural(all, path ? "request" : `${method} request`)} ${side === "made" ? "to" : "served at"} `
    + `${path ? pathOf(first) : host || "no route"} ${failure ? "failed" : words} ${time} (${failure ? words : first.mean})`
    + `${!path && line ? `, such as ${nameOf(line)}` : ""}.`
    + (others.length ? ` ${plural(others.length, "more row")} below.` : "");
}

function now() {
  const [recent, earlier] = [isNow, step => !isNow(step)].map(isWanted => known.steps.filter(isWanted));
  const [rows, before] = [recent, earlier].map(steps => new Map(SIDES.flatMap(side =>
    requestRows(side, steps.flatMap(step => [...step[side].values()]))).map(row => [row.key, row])));
  const [refused, errors] = [true, false].map(is => failuresNow(recent, rows).filter(one => isRefusal(one.failure) === is));
  const slow = [...rows.values()].flatMap(row => slowNow(row, before.get(row.key),
    sum(errors.filter(one => one.failure === "timeout" && requestKey(one) === row.key))));
  fill("wrong", [...errors, ...slow]);
  fill("refused", refused);
  setText($("wrong-title"), sentenceOf([...errors, ...slow], sum([...rows.values()])));
  $("wrong-part").className = errors.length ? "" : slow.length ? "slow" : "quiet";
  $("refused-part").hidden = !refused.length;
  setText($("refused-words"), `${plural(sum(refused), "request")} answered with a 4xx`);
}
// The requests that wait for longer than the limits of their directions, the oldest hundred. The process
// lists them at each refresh.
const waits = { lines: [], count: 0, unstarted: 0, heldSince: 0, heldBy: "", limits: {}, trouble: "" };

async function readWaits() {
  try {
    const { limit_s: limits, held_s: held, held_by: heldBy, count, unstarted, oldest } =
      await get("page/waits").then(answer => answer.json());
    Object.assign(waits, { lines: oldest.map(waitingLine), count, unstarted, limits, heldBy, trouble: "",
      heldSince: held > 0 ? Date.now() - 1000 * held : 0 });
  } catch (error) {
    Object.assign(waits, { lines: [], count: 0, unstarted: 0, heldSince: 0, heldBy: "", trouble: error.message });
  }
}

// Such a line has no end: it is known by its identifier.
function waitingLine({ id, start_us: microseconds, line: fields }) {
  const line = lineOf(JSON.stringify(fields)), start = microseconds / 1000;
  return Object.assign(line, { key: `waits ${id}`, id, start, end: start + 1000 * line.seconds, isActive: true });
}

// What a request waits for, in a sentence about it and in words.
const WAITS = {
  start: ["to be started", "URLSession has taken it and has not started it: something holds the queue of all sessions,"
    + " such as a delegate, a protocol class or a body stream that does not return."],
  queue: ["for a free connection", "Other requests of the session have all connections that one host gets."],
  resolve: ["for the host's address", "The look-up of the host's name has no answer."],
  connect: ["for a connection", "The server, or a proxy on the way to it, has not taken the connection."],
  tls: ["for the TLS handshake", "The connection is open, and the TLS handshake is not complete."],
  upload: ["for the server to take the body", "The server has not taken the whole body of the request."],
  response: ["for the response", "The head of the response has not come."],
  body: ["for the rest of the response", "The head has come, and the body is not complete."],
  credentials: ["for credentials", "The server wants credentials, and nobody gives them. Without a delegate that answers,"
    + " Foundation before Swift 6.3.2 waits for ever: cancel the request."],
  redirect: ["for an answer to a redirect", "The app has not answered the redirect, and Foundation waits for ever: cancel the request."],
  handler: ["for the app's handler", "The app has not responded."],
  request: ["for a request that the app makes", "The app has not responded, and a request that it makes in this trace has not ended."],
  client: ["for its caller", "The response is being written."],
};
const waitOf = ({ of }) => of("waiting_for");
const idleOf = ({ numberOf }) => numberOf("idle_s");
// The made requests for which a served one waits: of its trace, and begun while it is served.
const causesOf = line => waitOf(line) !== "request" ? []
  : waits.lines.filter(one => one.party.side === "made" && one.trace === line.trace && one.start >= line.start);

// Something has passed within the limit, or may have: it takes long, and does not hang. A served request
// moves with those that it waits for; those that are not here are younger than the limit.
function isMoving(line) {
  const causes = causesOf(line), wait = waitOf(line), idle = idleOf(line);
  if (wait === "request") return !causes.length || causes.some(isMoving);
  return idle < waits.limits[line.party.side] || idle === undefined && /^(body|upload)$/.test(wait);
}

// A time in at most two units, without a fraction.
function age(time) {
  if (!(time >= 0)) return "–";
  const [hours, minutes, rest] = [time / 3600, time / 60 % 60, time % 60].map(Math.floor);
  const parts = hours ? [hours, "h", minutes, "min"] : minutes ? [minutes, "min", rest, "s"] : [rest, "s"];
  return parts.join("\u00a0");
}

// A path, or else where the request goes.
const waitingName = line => line.party.path ? pathOf(line.party)
  : line.of("url.full") || line.of("url.path") ? nameOf(line) : `${line.party.method} to ${line.party.host || "no route"}`;
const waitingWords = line => isMoving(line) ? "is active" : `waits ${WAITS[waitOf(line)]?.[0] || ""}`.trim();
const timeOfDay = time => dateAndTime(time).slice(11, 19);
const beginOf = ({ start }) => timeOfDay(start);

function progressOf(line) {
  const isMade = line.party.side === "made", idle = idleOf(line);
  const [asked, answered] = ["request", "response"].map(name => line.numberOf(`http.${name}.body.size`));
  const [sent, received] = isMade ? [asked, answered] : [answered, asked];
  return [codeOf(line), sent > 0 && `${bytes(sent)} sent`, received > 0 && `${bytes(received)} received`,
    !isMoving(line) && idle >= 2 && `nothing for ${age(idle)}`].filter(Boolean).join(", ");
}

const WAITING = [link("What", waitingWords, line => openLine(line)), column("Request", line => nameOf(line)),
  column("Client", ({ party }) => clientOf(party)), column("Host", ({ party }) => party.host || "–"),
  column("For", line => line.seconds, age), column("Since", beginOf), column("Progress", progressOf)];
Object.assign(TABLES, { waits: { title: "", limit: 5, columns: WAITING }, "more-waits": { title: "Active", limit: 100, columns: WAITING } });

const limitOf = lines => seconds(Math.min(...lines.map(line => waits.limits[line.party.side])));
const hasMore = () => waits.count > waits.lines.length;

const HELD = { queue: "something holds the queue of all sessions", threads: "Dispatch has no thread left, because blocks that do not return have all of them" };

// The sentences about the requests that hang. What may be a cause goes first, and the oldest is named.
function waitingSentence(hanging) {
  if (waits.trouble) return `What waits is unknown: ${waits.trouble}.`;
  const isUnstarted = line => waitOf(line) === "start", unstarted = hanging.filter(isUnstarted), said = [];
  const heldSince = waits.heldSince || unstarted[0]?.start;
  if (waits.unstarted || waits.heldSince) said.push(
    `URLSession ${waits.unstarted ? `has not started ${plural(waits.unstarted, "request")}` : "starts no requests"}`
    + `${heldSince ? `, since ${timeOfDay(heldSince)}` : ""}: ${HELD[waits.heldBy] || HELD.queue}.`);
  const others = hanging.filter(line => !isUnstarted(line)), effects = others.filter(line => causesOf(line).length);
  const causes = others.filter(line => !effects.includes(line)), [first] = causes;
  if (first) said.push(`${hasMore() ? "At least " : ""}${plural(causes.length, "request")} ${causes.length === 1 ? "has" : "have"}`
    + ` waited over ${limitOf(causes)}: ${`${waitingName(first)} ${WAITS[waitOf(first)]?.[0] || ""}`.trim()}, since ${beginOf(first)}.`);
  if (effects.length) said.push(`${plural(effects.length, "served request")} wait${effects.length === 1 ? "s" : ""} because of ${causes.length === 1 ? "it" : "them"}.`);
  return said.join(" ");
}

// Made requests before those that the app serves, and these before those that wait for one.
const rankOf = line => causesOf(line).length ? 2 : line.party.side === "served" ? 1 : 0;

function waiting() {
  const shown = waits.lines.filter(line => isChosen(line.party)).map(line => ({ ...line, severity: isMoving(line) ? "INFO" : "WARN" }));
  const hanging = shown.filter(line => !isMoving(line)).sort((a, b) => rankOf(a) - rankOf(b)), more = [...hanging.slice(TABLES.waits.limit), ...shown.filter(isMoving)];
  const sentence = waitingSentence(hanging);
  fill("waits", hanging);
  fill("more-waits", more);
  setText($("waits-title"), sentence);
  $("waits-part").hidden = !sentence;
  $("waits-part").className = hanging.length || waits.heldSince ? "" : "quiet";
  $("more-waits-part").hidden = !more.length;
  if (more.length) setText($("more-waits-words"), `${plural(more.length, hanging.length ? "more request" : "request")} active for over ${limitOf(more)}`
    + (hasMore() ? `: the oldest of ${number(waits.count)} are here` : more.length === 1 ? `: ${waitingName(more[0])}, ${progressOf(more[0])}` : ""));
}
// Where the time goes: the phases of one request, of the requests of a trace, and of all requests to a
// server.

// The meaning of each phase. The second text is what a slow server does in it, where the network may be slow
// instead.
const PHASES = {
  queue: ["wait for a free connection of the session to this host"],
  resolve: ["look-up of the host's name"],
  connect: ["opening the connection, with a proxy's tunnel", "accepts"],
  tls: ["TLS handshake"],
  upload: ["request body", "reads"],
  processing: ["the wait for the server's answer"],
  response: ["the wait and the response, with an unknown border", "answers"],
  transfer: ["response body", "writes"],
  local: ["this process"],
  unknown: ["in no phase, such as redirects, challenges, or a wait for what never came"],
};
const PHASE_NAMES = Object.keys(PHASES).slice(0, -1);

// The phases in their order, and the rest of the time as `unknown`. After redirects the phases are those of
// the last leg, so the rest comes first.
function piecesOf(time, timeOf, isAfterRedirect) {
  const pieces = PHASE_NAMES.map(name => ({ name, time: timeOf(name) })).filter(piece => piece.time >= 0);
  const rest = { name: "unknown", time: time - pieces.reduce((sum, piece) => sum + piece.time, 0) };
  if (rest.time <= time / 200) return pieces;
  return isAfterRedirect ? [rest, ...pieces] : [...pieces, rest];
}

const piecesOfLine = ({ seconds = 0, numberOf }) =>
  piecesOf(seconds, name => numberOf(`${name}_s`), numberOf("http.request.resend_count") > 0);

// What the app can do about some phases.
const REMEDIES = [
  [["queue"], "queue", "allow more connections (httpMaximumConnectionsPerHost), or make fewer requests at once"],
  [["resolve", "connect", "tls"], "connecting", "make all requests with one session, which uses connections again"],
  [["local"], "local", "take load off this process"],
];

// The largest part that the app can change, if it is a tenth of the time and at least 10 ms. Without an
// answer there was no connection to keep.
function remedyFor(pieces, time, largest) {
  const isAnswered = pieces.some(({ name }) => /^(processing|response|transfer)$/.test(name));
  const [names, what, remedy, part] = REMEDIES.filter(([names]) => isAnswered || !names.includes("connect"))
    .map(one => [...one, pieces.reduce((sum, { name, time }) => sum + (one[0].includes(name) ? time : 0), 0)])
    .reduce((a, b) => b[3] > a[3] ? b : a);
  if (!(part >= Math.max(time / 10, .01))) return "";
  return names.includes(largest) ? ` The app can change it: ${remedy}.`
    : ` The app can change ${percent(part / time)}: ${what} took ${seconds(part)}; ${remedy}.`;
}

const hasPhases = client => seriesOf("phases").some(one => one.client === client);
const noPhases = client => `${client ? `The client ${client}` : "This client"} reports no phases.`;

// The sentence about the longest phase. The answer takes at least one round trip: the rest of `processing` is
// the server's, unless there was no answer.
function verdict(pieces, time, roundTrip, cut) {
  const { name, time: most } = pieces.reduce((a, b) => b.time > a.time ? b : a);
  const isAnswer = name === "processing" && roundTrip >= 0 && !cut;
  const [words, slow] = !isAnswer ? PHASES[name] : [roundTrip > most / 2 ? "the network's way there and back" : "the server's work"];
  return element("p.verdict",
    `${percent(most / time)} is ${name}: ${words}${slow ? `, by the network or a server that ${slow} slowly` : ""}.`,
    isAnswer ? ` The network's round trip is ${seconds(roundTrip)} of ${seconds(most)}.` : cut ? ` ${cut}` : "",
    remedyFor(pieces, time, name));
}

const barOf = (pieces, total) => pieces.map(({ name, time }) => {
  const node = element(`span.${name}`, { title: `${name} ${seconds(time)}, ${percent(total ? time / total : 0)}` });
  node.style.flexGrow = total ? 100 * time / total : 0;
  return node;
});

// By client and host, the most time first. Each request has a duration, but a phase may be unknown.
function phaseGroups(isRecent) {
  const of = (place, isWanted = isChosen, list = sumsOf(place, isRecent)) => new Map(
    grouped(list, known[place].bounds, serverKey, isWanted).map(one => [one.key, one.numbers]));
  const made = sumsOf("made", isRecent).filter(one => !one.isCached), requests = of("made", isChosen, made);
  // Connections have no path: they are compared with all requests to the server that had a connection.
  const [opened, trips, sentAgain] = ["opened", "roundTrips", "sentAgain"].map(place => of(place, isChosenServer));
  const every = of("made", isChosenServer, made), without = of("made", one => isChosenServer(one)
    && /^(connect|dns|tls)$/.test(one.failure), isRecent ? inSteps("failures") : made);
  const timeouts = of("made", one => isChosen(one) && one.failure === "timeout", isRecent ? inSteps("failures") : made);
  const phases = Map.groupBy(grouped(sumsOf("phases", isRecent), known.phases.bounds, one => serverKey(one) + one.phase), serverKey);
  return [...requests].map(([key, [count, time]]) => {
    const connected = every.get(key)[COUNT] - (without.get(key)?.[COUNT] || 0);
    const [tripCount, tripTime] = trips.get(key) || [];
    const [client, host] = JSON.parse(key);
    return { key, client, host, phases: phases.get(key) || [], count, time, roundTrip: tripTime / tripCount,
      reused: Math.max(0, 1 - opened.get(key)?.[COUNT] / connected), sentAgain: sentAgain.get(key)?.[COUNT], timeouts: timeouts.get(key)?.[COUNT] };
  }).sort((a, b) => b.time - a.time);
}

// A bar, and the same in words.
function phaseItem({ client, host, phases, count, time, roundTrip, reused, sentAgain, timeouts }) {
  const facts = [reused >= 0 && `${percent(reused)} on a reused connection`, roundTrip >= 0 && `${seconds(roundTrip)} round trip`,
    sentAgain && `${plural(sentAgain, "segment")} sent again`].filter(Boolean)
    .map(fact => fact + (chosen.path && ", on all paths"));
  const pieces = piecesOf(time, name => phases.find(one => one.phase === name)?.numbers[SUM]);
  const means = pieces.map(piece => ({ ...piece, time: piece.time / count }));
  return element("li", element("p", element("b", [client || "–", "→", host || "–", chosen.path].join(" ").trim()),
    element("span.now", element("b", `${seconds(time / count)} mean`),
      [plural(count, "request"), ...facts].map(fact => element("span", fact)))),
    ...!hasPhases(client) ? [element("p.verdict", noPhases(client))] : [
      element("div.bar", HIDDEN, barOf(means, time / count)),
      element("p", means.map(({ name, time }) => element(`span.phase.${name}`, `${name} ${seconds(time)}`))),
      verdict(means, time / count, roundTrip, timeouts
        && `${plural(timeouts, "request")} timed out: what the server did meanwhile is unknown.`)]);
}

function phases() {
  const isRecent = isWhole("phases"), groups = phaseGroups(isRecent);
  setTitle("phases", "Where the time goes", isRecent);
  $("phases-part").hidden = !seriesOf("made").some(isChosen);
  const { transfer_info: info, connection_info: connections } = seriesOf("build")[0]?.labels || {};
  setText($("phases-what"), "The mean request by phase. Each bar is one whole request."
    + (info === "none" ? " This app does not see its transfers." : connections === "none" ? " This app does not see its connections." : ""));
  // The elements stay while their text is the same, which keeps a selection and saves time.
  const said = JSON.stringify([chosen.path, groups.map(group => [group.key, group.time])]);
  if ($("phases").dataset.said !== said) $("phases").replaceChildren(...groups.slice(0, 10).map(phaseItem));
  $("phases").dataset.said = said;
}
// The requests that a row opens: the process keeps the slowest of each row and the newest of each failure,
// which become lines here. And what the requests to a path take on average.
const kept = { lines: [] };

async function readHistory() {
  const history = await get("page/history").then(answer => answer.json()).catch(() => undefined);
  if (history) kept.lines = [...history.slowest, ...history.failed].map(one => keptLine(history.series[one.series], one));
  return history;
}

function keptLine({ side, labels: text }, { series, end_us: end, ...fields }) {
  const event = `http.${side === "served" ? "server" : "client"}.request`, labels = labelsOf(text);
  // To the microsecond, as in the log, so that this line has the same key as the request's line there.
  const timestamp = `${new Date(Math.floor(end / 1000)).toISOString().slice(0, -1)}${`${end % 1000}`.padStart(3, "0")}Z`;
  const named = LABELS.filter(([label]) => labels[label]).map(([label, name]) => [name, labels[label]]);
  return Object.assign(lineOf(JSON.stringify({ timestamp, event, ...Object.fromEntries(named), ...fields })), { isGone: true });
}

// The slowest request of a row in the chosen time. Time-outs come last, because they have a row of their own.
function slowestOf(row, lines) {
  const isIn = ({ party, of, end, seconds }) => seconds >= 0 && of("event").endsWith(".request")
    && end > epoch + performance.now() - (chosen.minutes * MINUTE || WINDOW) && requestKey(party) === requestKey(row);
  const isLate = ({ failure }) => failure === "timeout";
  return lines.filter(isIn).sort((a, b) => isLate(a) - isLate(b) || b.seconds - a.seconds)[0];
}

// The newest request of a row of failures.
const newestOf = (row, lines) => lines.filter(line => line.failure && failureKey(line.party, line.failure) === row.key)
  .reduce((a, b) => a?.end > b.end ? a : b, undefined);

async function openRow(row) {
  if (hasHistory) await readHistory();
  const line = (row.failure ? newestOf : slowestOf)(row, [...log.lines, ...kept.lines]);
  if (line) openLine(line);
  else filterBy(row);
}

// The mean of all requests to the path, by phase, over all methods: phases have no label for the method.
function usualOf({ client, host, path }) {
  const isTheirs = one => one.client === client && one.host === host && one.path === path && !one.isCached;
  const of = place => grouped(sumsOf(place, isWhole("phases")), known[place].bounds, one => one.phase, isTheirs);
  const [{ numbers: [count, time] } = { numbers: [] }] = of("made"), phases = of("phases");
  const pieces = piecesOf(time / count, name => phases.find(one => one.phase === name)?.numbers[SUM] / count);
  return { count, time: time / count, pieces, words: `${plural(count, "request")} ${path ? "to this path" : "without a template"}` };
}

// The sentence that compares a request with the mean, and names the phase that differs most.
function difference(one, pieces, usual) {
  const more = one.seconds - usual.time, theirs = `the mean of ${usual.words}, ${seconds(usual.time)}`;
  if (!(usual.count > 1)) return "";
  if (more < usual.time / 2) return `It took ${seconds(one.seconds)}: ${more < 0 ? "less than" : "about"} ${theirs}.`;
  const growth = pieces.map(({ name, time }) => ({ name, time: time - (usual.pieces.find(one => one.name === name)?.time || 0) }))
    .reduce((a, b) => b.time > a.time ? b : a);
  return `It took ${seconds(more)} longer than ${theirs}${growth.name === "unknown" ? ""
    : `: ${seconds(growth.time)} more in ${growth.name}`}.`;
}
// A drawer beside the page, with one request and its trace.

// Keys that the drawer shows in another way. All other keys are listed as fields.
const SAID = /^(?!.*re(send|trans))(timestamp|waiting_for|severity|event|message|outcome|cut_off_phase|trace_id|span_id|\w+_s|(http|url|server|client|network|connection|error)\..*)$/;
const GONE = "any more. The log's file may have it.";

// What the drawer shows, and the lines that it has seen: the process may have dropped older ones since.
const drawer = { key: "", lines: new Map() };

function drawDrawer() {
  const isOpen = chosen.request || chosen.trace, one = chosen.request && lineWith(chosen.request);
  const about = JSON.stringify([chosen.request, chosen.trace]), trace = chosen.trace || one?.trace || "";
  if (drawer.about !== about) drawer.lines.clear();
  for (const line of [...kept.lines, ...log.lines, ...one ? [one] : []]) {
    if (line === one || trace && line.trace === trace) drawer.lines.set(line.key, line);
  }
  // An active request changes.
  const key = `${about} ${drawer.lines.size} ${one?.isGone} ${one?.isActive && one.text} ${one?.isOver}`;
  if (isOpen && $("drawer").hidden) drawer.opener = document.activeElement;
  $("drawer").hidden = !isOpen;
  if (!isOpen) {
    if (drawer.key) drawer.opener?.focus({ preventScroll: true });
    drawer.key = drawer.about = "";
  } else if (drawer.key !== key && !(drawer.about === about && hasSelection())) {
    setText($("drawer-title"), one ? requestOf(one) : chosen.request ? "This request" : `Trace ${trace}`);
    const content = [one ? requestContent(one) : !trace && element("p", `This process holds no line of it ${GONE}`),
      trace && traceContent(trace, one)];
    $("drawer-content").replaceChildren(...content.flat(3).filter(Boolean));
    // A new content scrolls to its heading; one that has only more lines stays where it is.
    if (drawer.about !== about) {
      $("drawer").scrollTop = 0;
      $("drawer-title").focus();
    }
    Object.assign(drawer, { key, about });
  }
}

// The line of the log before that of the history, because it has more keys.
function lineWith(key) {
  const one = [...waits.lines, ...log.lines, ...kept.lines].find(line => line.key === key) || drawer.lines.get(key);
  if (!one?.isActive || waits.lines.includes(one)) return one;
  // It has ended since: its line has the same span.
  const span = one.of("span_id"), isEnd = line => line.of("span_id") === span && line.of("event").endsWith(".request");
  return span && [...log.lines, ...kept.lines].find(isEnd) || { ...one, isOver: !waits.trouble };
}

// A drawing does not take away a text that is selected.
const hasSelection = () => String(getSelection()) && $("drawer-content").contains(getSelection().anchorNode);

const openLine = line => choose({ request: line.key, trace: "" });
const closeDrawer = () => choose({ request: "", trace: "" });

function requestContent(one) {
  const fields = Object.entries(one.fields).filter(([name]) => !SAID.test(name)).map(([name, value]) => [name, textOf(value)]);
  const trouble = troubleOf(one), pieces = piecesOfLine(one), roundTrip = one.numberOf("network.round_trip_s");
  const usual = usualOf(one.party), differs = difference(one, pieces, usual), cut = one.of("cut_off_phase");
  const isUnknown = pieces.every(({ name }) => name === "unknown") && !hasPhases(one.party.client);
  const times = () => one.party.side === "served" ? [element("p.none", "All of it is this app's time. The requests that it made meanwhile are in the trace.")]
    : [differs && element("p.verdict", differs), ...isUnknown ? [element("p.verdict", noPhases(one.party.client))]
      : [verdict(pieces, one.seconds, roundTrip, cut ? `It was cut off in ${cut}: its whole time is unknown.`
        : !codeOf(one) && "No answer came."), waterfall(one, pieces, roundTrip, usual)]];
  return [
    trouble && element(`p.trouble.${one.of("severity")}`, trouble),
    factList(factsOf(one)),
    one.seconds !== undefined && kindOf(one) !== "waits" && [element("h3", "Where the time went"), times()],
    fields.length > 0 && [element("h3", "Fields"), factList(fields)],
    one.isActive ? [] : one.isGone ? element("p.none", `This process holds no line of it ${GONE}`) : element("details", element("summary", "Its line"), element("pre", one.text)),
  ];
}

// The sentence about the error, or about what the request waits for.
function troubleOf(one) {
  const { of, party, failure } = one, code = codeOf(one), who = party.side === "served" ? "This app" : "The server";
  if (one.isOver) return "It is not active any more.";
  if (one.isActive && isMoving(one)) return "";
  if (kindOf(one) === "waits") return WAITS[waitOf(one)]?.[1] || "It has not ended.";
  const what = failure && (failure === code ? `${who} answered ${failureText(code)}.`
    : `It failed: ${failureText(failure)}${code && `, after the head of a ${code}`}.`);
  return [what || of("outcome") === "cancelled" && "It was cancelled, which is no error.", of("error.message")]
    .filter(Boolean).join(" ");
}

function factsOf(one) {
  const { of, party, numberOf, fields, start } = one;
  const isReused = fields["connection.reused"];
  const [version, address] = ["network.protocol.version", "network.peer.address"].map(of);
  return [
    [of("event") === "app" ? "Said" : "Began", dateAndTime(start)],
    ...kindOf(one) !== "waits" ? [["Took", seconds(one.seconds)]] : [[one.isOver ? "Was active" : "Active", age(one.seconds)],
      ["Waits", WAITS[waitOf(one)]?.[0]], ["Nothing passed for", isFinite(idleOf(one)) && age(idleOf(one))]],
    ["Status", codeOf(one)],
    [party.side === "served" ? "Asked by" : "Made by", of("client.address") || party.client],
    ["To", `${party.host} ${address && `at ${address}`}`.trim()], ["Path", party.path],
    ["Sent", bytes(numberOf("http.request.body.size"))], ["Received", bytes(numberOf("http.response.body.size"))],
    ["First byte after", seconds(numberOf("time_to_first_byte_s"))],
    ["Connection", [version && `HTTP/${version}`, isReused ? "reused" : isReused === false && "new"].filter(Boolean).join(", ")],
    ["Trace", one.trace], ["Span", of("span_id")],
  ].filter(([, text]) => text && text !== "–");
}

const factList = facts => element("dl.facts", facts.map(([name, text]) =>
  element("div", element("dt", name), element("dd", text))));

// A row of a waterfall: its name, its bar, and a text at the end.
function rowOf(name, words, bar, start, part, text) {
  bar.style.left = `${100 * Math.min(1, Math.max(0, start))}%`;
  bar.style.width = `${100 * Math.min(1, part)}%`;
  return [element("span", element("b", name), ` ${words}`), element("span.track", HIDDEN, bar),
    element("span.number", text)];
}

// Each phase begins where the one before ends. The round trip begins with `processing`, because it is a part
// of it.
function waterfall(one, pieces, roundTrip, usual) {
  const total = Math.max(one.seconds, usual.time || 0, 1e-9), row = (name, kind, words, time) =>
    element("li.step", rowOf(name, words, element(`span.${kind}`), start / total, time / total, seconds(time)));
  let start = 0;
  return element("ol.waterfall", pieces.flatMap(({ name, time }) => {
    const rows = [row(name, name === one.of("cut_off_phase") ? `${name}.cut` : name, PHASES[name][0], time)];
    if (name === "processing" && roundTrip >= 0) rows.push(row("round trip", "trip", "the network's part of it", roundTrip));
    start += time;
    return rows;
  }), usual.count > 1 && element("li.step", rowOf("mean", `of ${usual.words}`,
    element("span.bar", barOf(usual.pieces, usual.time)), 0, usual.time / total, seconds(usual.time))));
}

// The request without its host and query, for a narrow column.
const nameOf = line => line.of("http.request.method") ? requestOf(line).replace(/ \w+:\/\/[^/]+/, " ").replace(/\?.*/, "")
  : requestOf(line);

// The rows of a trace in the order of their begin: one for each request, with its end or else what is known
// last, and one for each other line.
function rowsOf(trace) {
  const rows = new Map(), weightOf = line => [/\.request$/.test(line.of("event")), line.isActive || false, line.end];
  for (const line of drawer.lines.values()) {
    if (line.trace !== trace || !isFinite(line.start)) continue;
    const key = line.party.side && line.of("span_id") ? `${line.party.side} ${line.of("span_id")}` : line.key, there = rows.get(key);
    const [mine, theirs] = [line, there || line].map(weightOf), place = mine.findIndex((one, i) => one !== theirs[i]);
    if (!there || mine[place] > theirs[place]) rows.set(key, line);
  }
  return [...rows.values()].sort((a, b) => a.start - b.start || b.end - a.end);
}

// A made request has the colours of its phases, a served one a frame.
function traceContent(trace, one) {
  const spans = rowsOf(trace);
  if (!spans.length) return [element("h3", "Trace"), element("p", `This process holds no line of this trace ${GONE}`)];
  const first = spans[0].start, total = Math.max(...spans.map(({ end }) => end - first), 1e-3);
  const items = spans.map(line => {
    const { party, of, start, end, seconds: time } = line;
    const bar = element(`span.bar.${party.side}`, party.side === "made" ? barOf(piecesOfLine(line), time) : []);
    return element("li", element(`button.step.${of("severity")}`, { onclick: () => openLine(line),
      ...(line === one || one?.isActive && line.of("span_id") === one.of("span_id")) && { "aria-current": true } },
      rowOf(`${kindOf(line) || "said"} ${party.client}`.trim(), nameOf(line), bar, (start - first) / total, (end - start) / total,
        `${statusOf(line)} ${time === undefined ? "" : seconds(time)}`.trim())));
  });
  return [element("h3", `Trace: ${plural(spans.length, "row")}, ${seconds(total / 1000)} in all`),
    element("ol.waterfall.trace", items)];
}
// Makes the parts of the page, scrapes, draws, and handles the controls.
const INTERVAL = 2000;
const hasHistory = document.body.dataset.history === "yes";

// The parts that exist for made and for served requests.
const PARTS = { figures: makeFigures, charts: side => Object.keys(CHARTS).map(name => makeChart(side, name)),
  numbers: side => [makeTable(`${side}-by-time`), makeTable(`${side}-by-bucket`)] };

function makeParts() {
  for (const node of all("[data-part]")) {
    node.append(...SIDES.map(side => element("div.side", { "data-side": side, hidden: "" }, PARTS[node.dataset.part](side))));
  }
  for (const node of all("[data-table]")) node.append(makeTable(node.dataset.table));
  $("legend").append(...Object.entries(PHASES).map(([name, [words]]) =>
    element(`span.phase.${name}`, element("b", name), ` ${words}`)));
}

// A choice from the address stays, even if no scrape has its value yet.
function options(name, values) {
  const there = new Set(Array.from($(name).options, ({ value }) => value));
  const more = [...new Set([...values, chosen[name]])].filter(value => value && !there.has(value)).sort();
  $(name).append(...more.slice(0, 2000 - there.size).map(value => element("option", { value }, value)));
}

function showControls() {
  const parties = [...SIDES, "active"].flatMap(seriesOf);
  for (const name of ["client", "host", "path"]) options(name, parties.map(party => party[name]));
  for (const name of CHOICES) {
    const control = $(name);
    // A field that has the focus is not overwritten.
    if (control && control.value !== chosen[name]
      && (control.tagName === "SELECT" || control !== document.activeElement)) control.value = chosen[name];
  }
  const filtered = FILTERS.filter(name => chosen[name]);
  $("all").hidden = !filtered.length;
  setText($("filtered"), ["Filters", ...filtered.map(name => chosen[name])].join(" · "));
}

const hasSide = side => known[side].size > 0 || known.steps.some(step => step[side].size);

// Served requests have no client and no host.
const isSideShown = side => chosen.path ? seriesOf(side).some(isChosen) : (!chosen.side || chosen.side === side)
  && (side === "made" || hasSide(side) && !chosen.client && !chosen.host);

function showSides() {
  const isEmpty = !waits.count && !SIDES.some(hasSide) && !sum(["active", "serving"].flatMap(seriesOf));
  document.body.classList.toggle("is-empty", isEmpty);
  $("none-yet").hidden = !isEmpty;
  for (const side of SIDES) for (const node of all(`[data-side=${side}]`)) node.hidden = !isSideShown(side);
}

// The name of the service, or else its address.
function showService() {
  const [{ service_name: given, service_version: version, service_instance_id: instance } = {}, build = {}] =
    ["target", "build"].map(place => seriesOf(place)[0]?.labels), started = sum(seriesOf("started"));
  const name = given || location.host;
  setText($("service"), name);
  setText($("about"), [version && `version ${version}`, instance || given && location.host,
    `${started ? `up since ${dateAndTime(1000 * started).slice(0, 16)}` : "times are"} UTC`, `SessionTap ${build.version || ""}`.trim()]
    .filter(Boolean).join(" · "));
  const title = `${[name, version, instance].filter(Boolean).join(" ")} – SessionTap`;
  if (document.title !== title) document.title = title;
}

// Draws part by part, so that the page can scroll in between. A later drawing ends one that is not complete.
let drawing = 0, lastDrawing, drawn;
const draw = () => lastDrawing = drawParts(++drawing);

async function drawParts(current) {
  // The charts are redrawn when their columns move: more often would cost time without a visible difference.
  const isDue = !(known.time - drawn < shown.span / 120);
  const parts = [showService, showControls, showSides, waiting, now, figures,
    ...isDue ? [setSpan, charts, phases, slowestRows, numbers] : []];
  for (const part of [...known.time ? parts : [], found, drawDrawer]) {
    if (current !== drawing) return lastDrawing;
    part();
    await breathe();
  }
  drawn = shown.time;
}

function redraw() {
  drawn = undefined;
  return draw();
}

// Draws what a choice opens, then the rest.
function show() {
  drawDrawer();
  redraw();
}

// Screen readers announce each change of the status.
function say(text, isFailure) {
  setText($("status"), text);
  $("status").className = isFailure ? "failed" : "";
}

// Whether the steps have a gap that the history fills: at the first scrape, and after the page was paused,
// its tab hidden, or the app gone.
let hasGap = true;

async function scrape() {
  const next = makeFamilies();
  await readLines(await get(METRICS), line => takeSample(next, line));
  await breathe();
  const before = known.time;
  learn(next, performance.now());
  await breathe();
  hasGap ||= !(known.time - before < 3 * INTERVAL);
  // A history that cannot be read is tried again with the next scrape.
  if (hasHistory && hasGap) {
    const history = await readHistory();
    if (history) backfill(history);
    hasGap = !history;
    drawn = undefined;
  }
  await readWaits();
  // The metrics are drawn even if the lines cannot be read.
  const trouble = hasLog && await readLog().then(() => "", error => error.message);
  setText($("log-trouble"), trouble ? `No lines: ${trouble}` : "");
  await draw();
}

const isPaused = () => $("pause").ariaPressed === "true", live = `Live, every ${INTERVAL / 1000} s`;

async function run() {
  for (;;) {
    if (!isPaused() && !document.hidden) {
      try {
        await scrape();
        if (!isPaused()) say(live);
      } catch (error) {
        say(`No scrape: ${error.message}`, true);
      }
    }
    await new Promise(resume => setTimeout(resume, INTERVAL));
  }
}

function pause() {
  $("pause").ariaPressed = !isPaused();
  setText($("pause"), isPaused() ? "Resume" : "Pause");
  say(isPaused() ? `Paused at ${clock(performance.now())}` : live);
}

makeParts();
$("lines-part").hidden = !hasLog;
for (const form of document.forms) {
  form.onsubmit = event => event.preventDefault();
  form.oninput = ({ target }) => choose({ [target.id]: target.value }, target.tagName === "SELECT");
}
$("all").onclick = () => filterBy({ side: "", client: "", host: "", path: "" });
$("pause").onclick = pause;
$("drawer-close").onclick = closeDrawer;
onkeydown = ({ key }) => { if (key === "Escape" && !$("drawer").hidden) closeDrawer(); };
onpopstate = () => { readAddress(); show(); };
onpointermove = onpointerdown = point;
$("numbers").ontoggle = redraw;
matchMedia("(prefers-color-scheme: dark)").onchange = fit;
// On a wide screen the filters are always open.
const wide = matchMedia("(min-width: 60rem)");
(wide.onchange = () => $("filters").open = wide.matches)();
const resized = new ResizeObserver(fit);
for (const canvas of all("canvas")) resized.observe(canvas);
run();

"""#
}

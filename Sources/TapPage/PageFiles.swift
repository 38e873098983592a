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
<body data-log="no">
  <header>
    <div>
      <h1 id="service">SessionTap</h1>
      <p id="about"></p>
    </div>
    <p id="status" role="status">Reading…</p>
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
      <div id="wrong-part">
        <div class="findings" data-table="wrong"></div>
      </div>
      <div id="waits-part" hidden>
        <div class="brief" data-table="waits"></div>
      </div>
      <details id="notes-part" hidden>
        <summary id="notes-words"></summary>
        <div class="findings" data-table="notes"></div>
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
      <h2 id="totals-title">In these minutes</h2>
      <div class="sides" data-part="figures"></div>
      <p class="note">
        <b>≈</b> An estimate from a histogram's buckets, off by the width of one bucket at most.
        <b>&gt;</b> Beyond the last bucket. <b>4xx</b> Not an error here: the caller caused it.
      </p>
    </section>
    <section data-table="slowest"></section>
    <section data-side="served">
      <div id="shares-part" hidden>
        <h2>Whose time</h2>
        <figure>
          <figcaption>The mean request to each route: the time in which at least one of its calls was active, and the app's own.</figcaption>
          <ul id="shares"></ul>
        </figure>
      </div>
    </section>
    <section data-side="made">
      <div id="phases-part" hidden>
        <h2 id="phases-title">Where the time goes</h2>
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
header, form, label, .legend, .now, :is(#phases, #shares) p, figcaption { display: flex; flex-wrap: wrap; gap: .3rem 1rem; align-items: center; }
label { flex-wrap: nowrap; gap: .5rem; }
label, dt, th, summary, figcaption, .scale, .times, .note, .none, #about, #status, #found, :is(#phases, #shares) p, .waterfall,
td::before { color: var(--soft); }
dt, figcaption, pre, .note, #about, :is(#phases, #shares) p, .waterfall { font-size: .85rem; }
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
.failed, .trouble, :is(.brief, .findings) .ERROR .link, #lines .ERROR :is(:nth-child(2), :nth-child(6), .number) { color: var(--three) !important; }
.findings .WARN .link, .brief .WARN .link, #lines .WARN :is(:nth-child(2), :nth-child(6), .number) { color: var(--two); }
/* What hangs and what is wrong now: a sentence, and rows if there are any. */
#now { --now: var(--three); }
#now .slow, #waits-part { --now: var(--two); }
#now .quiet { --now: var(--one); }
#now > div .scroll { border-left: .3rem solid var(--now); margin-bottom: .5rem; }
.quiet :is(thead, tbody) { display: none; }
#waits-title, #wrong-title { margin: .2rem 0; }
.findings td:first-child { max-width: none; }
.findings td + td { white-space: nowrap; }
/* "Whose time", where no row says it. */
.findings table:not(:has(.part)) :is(th, td):nth-child(3) { display: none; }
.part::after { content: ""; display: block; height: .5rem; margin-top: .2rem; border: var(--rim);
  background: linear-gradient(var(--processing), var(--processing)) 0 0 / var(--part) 100% no-repeat; }
dl { display: grid; gap: .5rem; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); }
dl div, figure, .scroll, details, .empty { background: var(--card); border: var(--edge); border-radius: .5rem;
  padding: .6rem .8rem; }
dd { font-size: 1.2rem; overflow-wrap: normal; }
dd ~ dd, dd:has(small) { font-size: .9rem; }
dd small { color: var(--soft); }
.sides, .side { display: grid; gap: .75rem; align-items: start;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); }
[hidden], .is-empty section:not(.empty, #lines-part) { display: none !important; }
figcaption, :is(#phases, #shares) p:first-child, .scale, .times { display: flex; justify-content: space-between; }
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
.upstream { --phase: var(--processing); }
.own { --lines: 0deg, var(--text); }
.queue { --lines: 45deg, var(--soft); }
.upload { --lines: 90deg, var(--transfer); }
.local { --lines: 0deg, var(--text); }
.trip { --lines: 135deg, var(--processing); }
.phase::before, .bar span, .track > :not(.bar) {
  background: var(--phase, repeating-linear-gradient(var(--lines) 0 3px, #0000 3px 6px)); }
.phase::before { height: .8rem; border: var(--rim); }
#shares li, #phases li { margin-top: .9rem; }
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
  .findings td:first-child { font-weight: normal; }
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
  if ("minutes" in changes) readWhy().then(redraw);
}

const isChosen = party => FILTERS.every(name => !chosen[name] || party[name] === chosen[name]);

// Gauges and connections have no path: client and host decide.
const isChosenServer = party => isChosen({ ...party, path: chosen.path });

readAddress();
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
    if (one?.constructor !== Object) node.append(...[one ?? ""].flat().map(plain));
    else for (const [key, value] of Object.entries(one)) {
      if (typeof value === "function") node[key] = value;
      else node.setAttribute(key, value);
    }
  }
  return node;
}

function setText(node, text) {
  const shown = plain(text);
  if (node.textContent !== shown) node.textContent = shown;
}

// Without what changes the direction of the text (UAX #9), which any name may have.
function plain(text) {
  return typeof text === "string" ? text.replace(/\p{Bidi_C}/gu, " ") : text;
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
const shown = { steps: [], charted: [], span: 60000, time: NaN, words: {}, colours: [] };

function setSpan() {
  const start = chosen.minutes ? known.time - 60000 * chosen.minutes : -Infinity;
  shown.steps = known.steps.filter(step => step.to > start);
  // A last step of less than two seconds would say little.
  shown.charted = shown.steps.filter((step, i, { length }) => i < length - 1 || !i || step.to - step.from >= 2000);
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
  const { width, height } = context.canvas, rows = sums.map((sum, i) => sum[id] ??= valuesOf(sum, shown.charted[i], bounds));
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
      const y = 2 * unit + (height - 4 * unit) * (1 - part), { from, to } = shown.charted[i];
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
  const rates = sums.map((sum, i) => sum[id] ??= Array.from(sum.subarray(BUCKETS), count => rateOf(count, shown.charted[i])));
  const positive = rates.flat().filter(rate => rate > 0), highest = Math.max(...positive), lowest = Math.min(...positive);
  context.fillStyle = shown.colours[0];
  rates.forEach((rate, i) => {
    const left = Math.floor(across(shown.charted[i].from, width)), right = Math.ceil(across(shown.charted[i].to, width));
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
    const sums = shown.charted.map(step => sumOf(step, side));
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
  const index = pointer ? shown.charted.findIndex(step => step.from <= time && time < step.to) : shown.charted.length - 1;
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
// What is wrong, as the process concludes it: sentences, each with the requests that it is about.
const why = { findings: [], sentence: "", isWell: true };

async function readWhy() {
  try {
    const { findings, sentence, is_well: isWell } =
      await get(`why?seconds=${60 * chosen.minutes || 30}`, "application/json").then(answer => answer.json());
    Object.assign(why, { findings: findings.map(rowOfFinding), sentence, isWell });
  } catch (error) {
    Object.assign(why, { findings: [], sentence: `What is wrong is unknown: ${error.message}.`, isWell: true });
  }
}

function rowOfFinding({ sentence, kind, is_wrong: isWrong, direction: side = "", client = "", server = "", method = "", route = "",
  since = "", last = "", figures }) {
  return { key: JSON.stringify([kind, side, client, server, method, route]), sentence, kind, isWrong, side, client, host: server, method,
    path: route, since: since.slice(11, 19), last: last.slice(11, 19), figures,
    severity: !isWrong ? "" : /^(slow|calls)$/.test(kind) ? "WARN" : "ERROR" };
}

// What is of no request is of any.
const isFindingChosen = one => !one.side || isChosen(one);

// How the mean time of answered served requests is divided.
const hasShares = ({ side, figures }) => side === "served" && figures.own_s >= 0 && figures.upstream_s > 0;
function now() {
  const shown = why.findings.filter(isFindingChosen), wrong = shown.filter(one => one.isWrong), notes = shown.filter(one => !one.isWrong);
  fill("wrong", wrong);
  fill("notes", notes);
  setText($("wrong-title"), wrong.length ? `${plural(wrong.length, "thing")} wrong now` : why.isWell ? why.sentence
    : "Nothing of what is wrong now is about this choice.");
  $("wrong-part").className = wrong.some(one => one.severity === "ERROR") ? "" : wrong.length ? "slow" : "quiet";
  $("notes-part").hidden = !notes.length;
  setText($("notes-words"), `${plural(notes.length, "note")} on what is over, as before, or little`);
}
// The requests that have been active for long, the oldest hundred. The process says which of them hang.
const waits = { lines: [], count: 0, trouble: "" };

async function readWaits() {
  try {
    const { count, oldest } = await get("page/waits").then(answer => answer.json());
    Object.assign(waits, { lines: oldest.map(activeLine), count, trouble: "" });
  } catch (error) {
    Object.assign(waits, { lines: [], count: 0, trouble: error.message });
  }
}

// Such a line has no end: it is known by its identifier.
function activeLine({ id, start_us: microseconds, hangs, words, why, line: fields }) {
  const line = lineOf(JSON.stringify(fields)), start = microseconds / 1000;
  return Object.assign(line, { key: `waits ${id}`, start, end: start + 1000 * line.seconds, isActive: true, hangs, words, why,
    severity: hangs ? "WARN" : "INFO" });
}

// A time in at most two units, without a fraction.
function age(time) {
  if (!(time >= 0)) return "–";
  const [hours, minutes, rest] = [time / 3600, time / 60 % 60, time % 60].map(Math.floor);
  const parts = hours ? [hours, "h", minutes, "min"] : minutes ? [minutes, "min", rest, "s"] : [rest, "s"];
  return parts.join("\u00a0");
}

const idleOf = ({ numberOf }) => numberOf("idle_s");

function progressOf(line) {
  const isMade = line.party.side === "made", idle = idleOf(line);
  const [asked, answered] = ["request", "response"].map(name => line.numberOf(`http.${name}.body.size`));
  const [sent, received] = isMade ? [asked, answered] : [answered, asked];
  return [codeOf(line), sent > 0 && `${bytes(sent)} sent`, received > 0 && `${bytes(received)} received`,
    line.hangs && idle >= 2 && `nothing for ${age(idle)}`].filter(Boolean).join(", ");
}

const WAITING = [link("What", line => line.words, line => openLine(line)), column("Request", line => nameOf(line)),
  column("Client", ({ party }) => clientOf(party)), column("Host", ({ party }) => party.host || "–"),
  column("For", line => line.seconds, age), column("Since", ({ start }) => dateAndTime(start).slice(11, 19)), column("Progress", progressOf)];
Object.assign(TABLES, { waits: { title: "Requests that hang", limit: 5, columns: WAITING },
  "more-waits": { title: "Active", limit: 100, columns: WAITING } });

function waiting() {
  const shown = waits.lines.filter(line => isChosen(line.party)), hung = shown.filter(line => line.hangs);
  const more = [...hung.slice(TABLES.waits.limit), ...shown.filter(line => !line.hangs)];
  fill("waits", hung);
  fill("more-waits", more);
  setText($("waits-title"), waits.trouble ? `What hangs is unknown: ${waits.trouble}.` : TABLES.waits.title);
  $("waits-part").hidden = !hung.length && !waits.trouble;
  $("waits-part").className = hung.length ? "" : "quiet";
  $("more-waits-part").hidden = !more.length;
  setText($("more-waits-words"), `${plural(more.length, hung.length ? "more request" : "request")} active for long`
    + (waits.count > waits.lines.length ? `: the oldest of ${number(waits.count)} are here` : ""));
}
// Where the time goes: the phases of one request, of the requests of a trace, and of all requests to a
// server.

const PHASE_NAMES = Object.keys(WORDS.phases).slice(0, -1);

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

const hasPhases = client => inSteps("phases").some(one => one.client === client);
const noPhases = client => `${client ? `The client ${client}` : "This client"} reports no phases.`;

const barOf = (pieces, total) => pieces.map(({ name, time }) => {
  const node = element(`span.${name}`, { title: `${name} ${seconds(time)}, ${percent(total ? time / total : 0)}` });
  node.style.flexGrow = total ? 100 * time / total : 0;
  return node;
});

// By client and host, the most time first. Each request has a duration, but a phase may be unknown.
function phaseGroups() {
  const of = (list, isWanted = isChosen) => new Map(grouped(list, [], serverKey, isWanted).map(one => [one.key, one.numbers]));
  const made = inSteps("made").filter(one => !one.isCached), requests = of(made);
  // Connections have no path: they are compared with all requests to the server that had a connection.
  const [opened, trips, sentAgain] = ["opened", "roundTrips", "sentAgain"].map(place => of(inSteps(place), isChosenServer));
  const every = of(made, isChosenServer), without = of(inSteps("failures"), one => isChosenServer(one) && /^(connect|dns|tls)$/.test(one.failure));
  const timeouts = of(inSteps("failures"), one => isChosen(one) && one.failure === "timeout");
  const phases = Map.groupBy(grouped(inSteps("phases"), [], one => serverKey(one) + one.phase), serverKey);
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
      timeouts ? element("p.verdict", `${plural(timeouts, "request")} timed out: what the server did meanwhile is unknown.`) : ""]);
}

// Of a route, the time in which its requests, answered or not, waited for their calls, and the rest,
// which is the app's own.
function shareGroups() {
  const upstream = Map.groupBy(inSteps("upstream"), one => one.path), calls = Map.groupBy(grouped(inSteps("calls"), [], one => one.key, () => true), one => one.path);
  return grouped(inSteps("served"), [], one => one.path).filter(({ path }) => upstream.has(path)).map(({ path, numbers: [count, time] }) => {
    const waited = Math.min(time, upstream.get(path).reduce((sum, one) => sum + one.numbers[SUM], 0));
    return { key: path, path, count, time, calls: calls.get(path) || [], pieces: [{ name: "upstream", time: waited / count }, { name: "own", time: (time - waited) / count }] };
  }).sort((a, b) => b.time - a.time);
}

function shareItem({ path, count, time, calls, pieces }) {
  return element("li", element("p", element("b", path || "without a route"), element("span.now", element("b", `${seconds(time / count)} mean`), element("span", plural(count, "request")))),
    element("div.bar", HIDDEN, barOf(pieces, time / count)),
    element("p", pieces.map(({ name, time }) => element(`span.phase.${name}`, `${name} ${seconds(time)}`)),
      calls.sort((a, b) => b.numbers[SUM] - a.numbers[SUM]).slice(0, 5).map(({ client, numbers: [calls, time] }) =>
        element("span", `${client || "–"}: ${plural(calls / count, "call")}, ${seconds(time / count)}`))));
}

// The elements stay while their text is the same, which keeps a selection and saves time.
function showItems(id, groups, itemOf) {
  const said = JSON.stringify([chosen.path, groups.map(group => [group.key, group.time])]);
  if ($(id).dataset.said !== said) $(id).replaceChildren(...groups.slice(0, 10).map(itemOf));
  $(id).dataset.said = said;
}

function phases() {
  const shares = shareGroups();
  $("shares-part").hidden = !shares.length;
  showItems("shares", shares, shareItem);
  const groups = phaseGroups();
  $("phases-part").hidden = !groups.length;
  const { transfer_info: info, connection_info: connections } = seriesOf("build")[0]?.labels || {};
  setText($("phases-what"), "The mean request by phase. Each bar is one whole request."
    + (info === "none" ? " This app does not see its transfers." : connections === "none" ? " This app does not see its connections." : ""));
  showItems("phases", groups, phaseItem);
}
// The requests that a row opens: the process keeps the slowest of each row and the newest of each failure,
// which become lines here. And what the requests to a path take on average.
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
    && end > epoch + performance.now() - (chosen.minutes * MINUTE || WINDOW) && isOf(row, party);
  const isLate = ({ failure }) => failure === "timeout";
  return lines.filter(isIn).sort((a, b) => isLate(a) - isLate(b) || b.seconds - a.seconds)[0];
}

// The newest request of a row that failed.
const newestOf = (row, lines) => lines.filter(line => line.failure && isOf(row, line.party)).reduce((a, b) => a?.end > b.end ? a : b, undefined);

// A route with several methods is one row.
const isOf = (row, party) => requestKey({ ...party, method: row.method && party.method }) === requestKey(row);

async function openRow(row) {
  await readHistory().catch(() => {});
  const lines = [...log.lines, ...kept.lines], active = waits.lines.find(line => line.hangs && (!row.side || isOf(row, line.party)));
  const line = /^(hangs|held)$/.test(row.kind) ? active : (/^(fails|refused)$/.test(row.kind) ? newestOf : slowestOf)(row, lines);
  if (line) openLine(line);
  else if (row.side) filterBy(row);
}

// The mean of all requests to the path, by phase, over all methods: phases have no label for the method.
function usualOf({ client, host, path }) {
  const isTheirs = one => one.client === client && one.host === host && one.path === path && !one.isCached;
  const of = place => grouped(inSteps(place), known[place]?.bounds || [], one => one.phase, isTheirs);
  const [{ numbers: [count, time] } = { numbers: [] }] = of("made"), phases = of("phases");
  const pieces = piecesOf(time / count, name => phases.find(one => one.phase === name)?.numbers[SUM] / count);
  return { count, time: time / count, pieces, words: `${plural(count, "request")} ${path ? "to this path" : "without a template"}` };
}

// What the process says of the time of a request.
async function readVerdict(one, pieces, roundTrip, usual) {
  const known = pieces.filter(({ name }) => name !== "unknown"), times = list => list.map(({ name, time }) => [name, time]);
  const query = new URLSearchParams([["time", one.seconds], ...times(known), ["cut", one.of("cut_off_phase")], ["answered", codeOf(one) ? "yes" : "no"],
    ...roundTrip >= 0 ? [["round_trip", roundTrip]] : [],
    ...usual.count > 1 ? [["count", usual.count], ["mean", usual.time], ...times(usual.pieces).map(([name, time]) => [`mean_${name}`, time])] : []]);
  return (await get(`page/verdict?${query}`).then(answer => answer.text())).split("\n");
}
// A drawer beside the page, with one request and its trace.

// Keys that the drawer shows in another way. All other keys are fields.
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
  const usual = usualOf(one.party), said = element("div");
  const isUnknown = pieces.every(({ name }) => name === "unknown") && !hasPhases(one.party.client);
  const times = () => one.party.side === "served" ? sharesOf(one)
    : isUnknown ? [element("p.verdict", noPhases(one.party.client))] : [said, waterfall(one, pieces, roundTrip, usual)];
  if (one.seconds > 0 && one.party.side === "made") readVerdict(one, pieces, roundTrip, usual)
    .then(sentences => said.replaceChildren(...sentences.map(text => element("p.verdict", text)))).catch(() => {});
  return [
    trouble && element(`p.trouble.${one.of("severity")}`, trouble),
    factList(factsOf(one)),
    one.seconds !== undefined && kindOf(one) !== "waits" && [element("h3", "Where the time went"), times()],
    fields.length > 0 && [element("h3", "Fields"), factList(fields)],
    one.isActive ? [] : one.isGone ? element("p.none", `This process holds no line of it ${GONE}`) : element("details", element("summary", "Its line"), element("pre", one.text)),
  ];
}

// What a served request waited for, and what it took by itself.
function sharesOf(one) {
  const [upstream, own, calls] = ["upstream_s", "own_s", "upstream_requests"].map(one.numberOf), total = one.seconds;
  if (!(upstream >= 0)) return [element("p.verdict", "It made no calls: all of it is the app's own time.")];
  return [element("p.verdict", `${seconds(upstream)} of ${seconds(total)} it waited for ${plural(calls, "call")}, which the trace shows.`),
    element("ol.waterfall", stepOf(total, "upstream", "processing", "at least one call was active", 0, upstream),
      stepOf(total, "own", "local", "the app itself", upstream, own))];
}

// The sentence about the error, or about what the request waits for.
function troubleOf(one) {
  const { of, party, failure } = one, code = codeOf(one), who = party.side === "served" ? "This app" : "The server";
  if (one.isOver) return "It is not active any more.";
  if (kindOf(one) === "waits") return one.isActive ? one.why || "" : "It had not ended when this line was written.";
  const what = failure && (failure === code ? `${who} answered ${failureText(code)}.`
    : `It failed: ${failureText(failure)}${code && `, after the head of a ${code}`}.`);
  return [what || of("outcome") === "cancelled" && "It was cancelled, which is no error.", of("exception.message")]
    .filter(Boolean).join(" ");
}

function factsOf(one) {
  const { of, party, numberOf, fields, start } = one;
  const isReused = fields["connection.reused"];
  const [version, address] = ["network.protocol.version", "network.peer.address"].map(of);
  return [
    [of("event") === "app" ? "Said" : "Began", dateAndTime(start)],
    ...kindOf(one) !== "waits" ? [["Took", seconds(one.seconds)]] : [[one.isOver ? "Was active" : "Active", age(one.seconds)],
      ["Waits for", of("waiting_for")], ["Nothing passed for", isFinite(idleOf(one)) && age(idleOf(one))]],
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

// A row of a request's waterfall.
const stepOf = (total, name, kind, words, start, time) =>
  element("li.step", rowOf(name, words, element(`span.${kind}`), start / total, time / total, seconds(time)));

// Each phase begins where the one before ends. The round trip begins with `processing`, because it is a part
// of it.
function waterfall(one, pieces, roundTrip, usual) {
  const total = Math.max(one.seconds, usual.time || 0, 1e-9);
  let start = 0;
  return element("ol.waterfall", pieces.flatMap(({ name, time }) => {
    const rows = [stepOf(total, name, name === one.of("cut_off_phase") ? `${name}.cut` : name, WORDS.phases[name], start, time)];
    if (name === "processing" && roundTrip >= 0) rows.push(stepOf(total, "round trip", "trip", "the network's part of it", start, roundTrip));
    start += time;
    return rows;
  }), usual.count > 1 ? element("li.step", rowOf("mean", `of ${usual.words}`,
    element("span.bar", barOf(usual.pieces, usual.time)), 0, usual.time / total, seconds(usual.time))) : "");
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
        [`${statusOf(line)} ${time === undefined ? "" : seconds(time)}`.trim(), line.numberOf("own_s") >= 0 && `own ${seconds(line.numberOf("own_s"))}`].filter(Boolean).join(", "))));
  });
  return [element("h3", `Trace: ${plural(spans.length, "row")}, ${seconds(total / 1000)} in all`),
    element("ol.waterfall.trace", items)];
}
// Makes the parts of the page, reads, draws, and handles the controls.
const INTERVAL = 2000;

// The parts that exist for made and for served requests.
const PARTS = { figures: makeFigures, charts: side => Object.keys(CHARTS).map(name => makeChart(side, name)),
  numbers: side => [makeTable(`${side}-by-time`), makeTable(`${side}-by-bucket`)] };

function makeParts() {
  for (const node of all("[data-part]")) {
    node.append(...SIDES.map(side => element("div.side", { "data-side": side, hidden: "" }, PARTS[node.dataset.part](side))));
  }
  for (const node of all("[data-table]")) node.append(makeTable(node.dataset.table));
  $("legend").append(...Object.entries(WORDS.phases).map(([name, words]) =>
    element(`span.phase.${name}`, element("b", name), ` ${words}`)));
}

// A choice from the address stays, even if no scrape has its value yet.
function options(name, values) {
  const there = new Set(Array.from($(name).options, ({ value }) => value));
  const more = [...new Set([...values, chosen[name]])].filter(value => value && !there.has(value)).sort();
  $(name).append(...more.slice(0, 2000 - there.size).map(value => element("option", { value }, value)));
}

function showControls() {
  const parties = [...known.steps.flatMap(step => SIDES.flatMap(side => [...step[side].values()])), ...seriesOf("active")];
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

const hasSide = side => known.steps.some(step => step[side].size);

// Served requests have no client and no host.
const isSideShown = side => chosen.path ? inSteps(side).some(isChosen) : (!chosen.side || chosen.side === side)
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
  const parts = [setSpan, showService, showControls, showSides, now, waiting, figures,
    ...isDue ? [charts, phases, slowestRows, numbers] : []];
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

async function refresh() {
  await Promise.all([readHistory(), readNow(), readWaits(), readWhy()]);
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
        await refresh();
        if (!isPaused()) say(live);
      } catch (error) {
        say(`No data: ${error.message}`, true);
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

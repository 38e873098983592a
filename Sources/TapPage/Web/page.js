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

// Makes the parts of the page, scrapes, draws, and does what its reader chooses.
"use strict";

const INTERVAL = 2000;
let hasHistory = document.body.dataset.history === "yes";

// What there is of both sides.
const PARTS = { figures: side => [makeFigures(side)], charts: side => Object.keys(CHARTS).map(name => makeChart(side, name)),
  numbers: side => [makeTable(`${side}-by-time`), makeTable(`${side}-by-bucket`)] };

function makeParts() {
  for (const node of document.querySelectorAll("[data-part]")) {
    node.append(...SIDES.map(side => element("div", { class: "side", "data-side": side, hidden: "" },
      ...PARTS[node.dataset.part](side))));
  }
  for (const node of document.querySelectorAll("[data-table]")) node.append(makeTable(node.dataset.table));
  $("legend").append(...Object.entries(PHASES).map(([name, [words]]) =>
    element("span", { class: `phase ${name}` }, element("b", {}, name), ` ${words}`)));
  // What a percentile is, for a pointer that rests on its name.
  for (const node of document.querySelectorAll("dt, th")) {
    if (/^p\d+$/.test(node.textContent)) node.title = $("estimate").textContent;
  }
}

// A choice stays even where no scrape has it: it may come, and the address says so.
function options(name, values) {
  const select = $(name), there = new Set([...select.options].map(option => option.value));
  for (const value of [...new Set([...values, chosen[name]])].sort()) {
    if (value && !there.has(value) && there.size < 2000) select.append(element("option", { value }, name === "only"
      ? failureText(value) : value));
    there.add(value);
  }
}

function showControls() {
  const parties = [...SIDES.flatMap(side => [...known[side].series.values()].map(one => one.party)), ...known.active.values()];
  for (const name of ["client", "host", "path"]) options(name, parties.map(party => party[name]));
  options("only", known.steps.flatMap(step => [...step.failures.values()].map(one => one.failure)));
  for (const name of CHOICES) {
    const control = $(name);
    // Not under the hands of somebody who types.
    if (control && control.value !== chosen[name]
      && (control.tagName === "SELECT" || control !== document.activeElement)) control.value = chosen[name];
  }
  $("all").hidden = !FILTERS.some(name => chosen[name]);
}

// The requests that the app serves have no client and no host.
const isSideShown = side => (!chosen.side || chosen.side === side) && (side === "made" || !chosen.client && !chosen.host)
  && (side === "made" && !chosen.path || known[side].series.size > 0 || known.steps.some(step => step[side].size))
  && (!chosen.path || [...known[side].series.values()].some(one => isChosen(one.party)));

function showSides() {
  const isEmpty = !known.made.series.size && !known.served.series.size
    && !known.steps.some(step => step.made.size || step.served.size);
  const waiting = [...known.active.values(), ...known.serving.values()].reduce((sum, one) => sum + one.value, 0);
  document.body.classList.toggle("is-empty", isEmpty);
  $("none-yet").hidden = !isEmpty || waiting > 0;
  $("none-ended").hidden = !isEmpty || !waiting;
  setText($("waiting"), plural(waiting, "request"));
  for (const side of SIDES) for (const node of document.querySelectorAll(`[data-side=${side}]`)) node.hidden = !isSideShown(side);
}

function duration(time) {
  const minutes = Math.floor(time / 60), hours = Math.floor(minutes / 60), days = Math.floor(hours / 24);
  return days ? `${days} d ${hours % 24} h` : hours ? `${hours} h ${minutes % 60} min` : minutes ? `${minutes} min`
    : `${Math.floor(time)} s`;
}

// Whom the reader looks at. Without a name of its own the service is its address.
function showService() {
  const { target, build, started } = known;
  const name = target.service_name || location.host;
  const facts = [target.service_version && `version ${target.service_version}`, target.service_instance_id
    || target.service_name && location.host,
    started && `up ${duration(Date.now() / 1000 - started)}`, `SessionTap ${build.version || ""}`.trim()].filter(Boolean);
  setText($("service"), name);
  setText($("about"), facts.join(" · "));
  document.title = [name, target.service_version, target.service_instance_id].filter(Boolean).join(" ") + " – SessionTap";
}

// Part by part, so that the page can scroll in between. A later drawing replaces one that is not complete, which ends with it.
let drawing = 0, lastDrawing;
const draw = () => lastDrawing = drawParts(++drawing);

async function drawParts(current) {
  const parts = known.time === undefined ? [] : [showService, showControls, showSides, charts, figures, failures, parties,
    phases, slowest, numbers];
  for (const part of [...parts, found, drawDrawer]) {
    if (current !== drawing) return lastDrawing;
    part();
    await breathe();
  }
}

// What a choice changes at once, and then the rest.
function show() {
  drawDrawer();
  draw();
}

// Screen readers announce it, so it changes only when there is something to announce.
function say(text, isFailure) {
  setText($("status"), text);
  $("status").className = isFailure ? "failed" : "";
}

async function scrape() {
  const next = new Scrape();
  await readLines(await get(METRICS, "text/plain;version=0.0.4"), line => next.take(line));
  await breathe();
  const before = known.time;
  learn(next, performance.now());
  await breathe();
  // The first scrape, or one after a time without: the page was paused, its tab hidden, or the app gone. Where a proxy
  // does not pass the path of the history, the page does without it from then on.
  if (hasHistory && !(known.time - before < 3 * INTERVAL)) {
    const history = await get(HISTORY, "application/json").then(answer => answer.json()).catch(() => undefined);
    if (history) backfill(history); else hasHistory = false;
  }
  // The metrics are drawn even where the lines cannot be had.
  const trouble = hasLog && await readLog().then(() => "", error => error.message);
  setText($("log-trouble"), trouble ? `No lines: ${trouble}` : "");
  await draw();
}

const isPaused = () => $("pause").getAttribute("aria-pressed") === "true";

async function live() {
  for (;;) {
    if (!isPaused() && !document.hidden) {
      try {
        await scrape();
        if (!isPaused()) say(`Live, every ${INTERVAL / 1000} s`);
      } catch (error) {
        say(`No scrape: ${error.message}`, true);
      }
    }
    await new Promise(resume => setTimeout(resume, INTERVAL));
  }
}

function pause() {
  $("pause").setAttribute("aria-pressed", String(!isPaused()));
  setText($("pause"), isPaused() ? "Resume" : "Pause");
  say(isPaused() ? `Paused at ${clock(performance.now())}` : `Live, every ${INTERVAL / 1000} s`);
}

makeParts();
$("lines-part").hidden = !hasLog;
for (const form of document.forms) {
  form.addEventListener("submit", event => event.preventDefault());
  form.addEventListener("input", ({ target }) => choose({ [target.id]: target.value }, target.tagName === "SELECT"));
}
$("all").addEventListener("click", () => choose({ side: "", client: "", host: "", path: "" }));
$("pause").addEventListener("click", pause);
$("more").addEventListener("click", () => { TABLES.lines.limit += 200; draw(); });
$("drawer-close").addEventListener("click", closeDrawer);
addEventListener("keydown", event => { if (event.key === "Escape" && !$("drawer").hidden) closeDrawer(); });
addEventListener("popstate", () => { readAddress(); show(); });
for (const name of ["pointermove", "pointerdown"]) addEventListener(name, point);
for (const id of ["numbers", "phase-numbers"]) $(id).addEventListener("toggle", draw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", fitHeat);
const resized = new ResizeObserver(fitHeat);
for (const side of SIDES) resized.observe($(`${side}-heat`));
live();

// Scrapes, draws, and does what its reader chooses.
"use strict";

const INTERVAL = 2000;
let hasHistory = document.body.dataset.history === "yes";

function options(select, values) {
  const there = new Set([...select.options].map(option => option.value));
  for (const value of [...values].sort()) {
    if (value && !there.has(value) && there.size < 2000) select.append(element("option", { value }, value));
  }
}

// Part by part, so that the page can scroll in between. A later drawing replaces one that is not complete.
let drawing = 0;
async function draw() {
  if (known.time === undefined) return;
  const client = $("client").value, host = $("host").value, current = ++drawing;
  const choice = { key: JSON.stringify([client, host]),
    has: party => (!client || party.client === client) && (!host || party.host === host) };
  for (const part of [charts, figures, parties, routes, phases, slowest, numbers]) {
    if (current !== drawing) return;
    part(choice);
    await breathe();
  }
}

// Screen readers announce it, so it changes only when there is something to announce.
function say(text, isFailure) {
  if ($("status").textContent !== text) $("status").textContent = text;
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
  const parties = [...[...known.made.series.values()].map(one => one.party), ...known.active.values()];
  options($("client"), new Set(parties.map(party => party.client)));
  options($("host"), new Set(parties.map(party => party.host)));
  await draw();
  if (hasLog) await log();
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

// What a percentile is, for a pointer that rests on its name.
for (const name of document.querySelectorAll("dt, th")) if (/^p\d+$/.test(name.textContent)) name.title = $("estimate").textContent;

$("filters").addEventListener("change", draw);
$("filters").addEventListener("submit", event => event.preventDefault());
$("pause").addEventListener("click", () => {
  $("pause").setAttribute("aria-pressed", String(!isPaused()));
  say(isPaused() ? "Paused" : `Live, every ${INTERVAL / 1000} s`);
});
for (const id of ["numbers", "phase-numbers"]) $(id).addEventListener("toggle", draw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
const resized = new ResizeObserver(draw);
for (const name of SIDES) resized.observe($(`${name}-heat`));
live();

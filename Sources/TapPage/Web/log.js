// The last lines of the log, and those of one trace together.
"use strict";

const hasLog = document.body.dataset.log === "yes";
const LINES = 20, TRACE_LINES = 200;
const KINDS = { "http.client.request": "made", "http.server.request": "served", "http.client.request.waiting": "waits" };
// The trace whose lines are shown.
let trace = "";

async function entriesOf(query) {
  const entries = [];
  await readLines(await get(`logs?${query}`, "application/x-ndjson"), line => {
    if (!line) return;
    let entry;
    try { entry = JSON.parse(line); } catch { }
    entries.push(entry && typeof entry === "object" ? entry : { message: line });
  });
  return entries;
}

const isTrace = id => typeof id === "string" && id !== "";
const durationOf = entry => typeof entry.duration_s === "number" ? entry.duration_s : undefined;
const clockOf = entry => String(entry.timestamp || "").slice(11, 23);

// What both lists say of a line.
const requestOf = entry => entry["http.request.method"]
  ? `${entry["http.request.method"]} ${entry["url.full"] || entry["url.path"] || ""}` : String(entry.message || entry.event || "");
const statusOf = entry => String(entry["http.response.status_code"] ?? entry["error.type"] ?? entry.outcome ?? "");
const kindOf = entry => KINDS[entry.event] || "";

async function log() {
  let entries;
  try {
    entries = (await entriesOf(`limit=${LINES}`)).reverse();
  } catch (error) {
    return fill("log", [], `No log: ${error.message}`);
  }
  const focused = document.activeElement?.dataset.line;
  fill("log", entries.map(entry => ({ attributes: attributesOf(entry), cells: [clockOf(entry), String(entry.severity || ""),
    kindOf(entry), String(entry.client || ""), requestOf(entry), [statusOf(entry)],
    [durationOf(entry) === undefined ? "" : seconds(durationOf(entry))], traceButton(entry)] })), "No line yet.");
  // The buttons of before are gone with their lines: the focus goes to the new button of the same line.
  if (focused) [...$("log").querySelectorAll("button")].find(one => one.dataset.line === focused)?.focus({ preventScroll: true });
  if (trace) await showTrace();
}

function attributesOf(entry) {
  const severity = /^(WARN|ERROR)$/.test(entry.severity) ? entry.severity : "";
  return { class: `${severity} ${isTrace(entry.trace_id) ? "traced" : ""}`.trim() };
}

function traceButton(entry) {
  if (!isTrace(entry.trace_id)) return "";
  const button = element("button", { type: "button", class: "trace", title: `The lines of the trace ${entry.trace_id}` },
    entry.trace_id.slice(0, 8));
  button.dataset.trace = entry.trace_id;
  button.dataset.line = `${entry.trace_id} ${entry.span_id} ${entry.timestamp}`;
  return button;
}

// When the request of a line began, in milliseconds: the line says when it ended, to the microsecond.
function startOf(entry) {
  const text = String(entry.timestamp || "");
  const end = Date.parse(`${text.slice(0, 19)}Z`) + Number(`0${text.slice(19, -1)}`) * 1000;
  return end - (durationOf(entry) || 0) * 1000;
}

// By the order of their starts, each beside its part of the trace's time.
async function showTrace() {
  const id = trace;
  let entries;
  try {
    entries = await entriesOf(`limit=${TRACE_LINES}&trace_id=${encodeURIComponent(id)}`);
  } catch (error) {
    entries = error;
  }
  // Another trace may have been chosen since.
  if (id !== trace) return;
  if (entries instanceof Error) return fill("trace", [], `No log: ${entries.message}`);
  const spans = entries.map(entry => ({ entry, start: startOf(entry), time: (durationOf(entry) || 0) * 1000 }))
    .filter(({ start }) => Number.isFinite(start)).sort((a, b) => a.start - b.start || b.time - a.time);
  const first = spans.length ? spans[0].start : 0;
  const total = Math.max(...spans.map(({ start, time }) => start + time - first), 1e-3);
  fill("trace", spans.map(({ entry, start, time }) => ({ attributes: attributesOf(entry), cells: [
    [`+${seconds((start - first) / 1000)}`], String(entry.severity || ""), kindOf(entry), requestOf(entry), [statusOf(entry)],
    [durationOf(entry) === undefined ? "" : seconds(time / 1000)], timeBar((start - first) / total, time / total)] })),
    "/logs holds no line of this trace any more.");
  $("trace-facts").textContent = `${number(spans.length)} ${spans.length === 1 ? "line" : "lines"}, ${seconds(total / 1000)} in all.`;
}

function timeBar(start, part) {
  const track = element("div", { class: "track", "aria-hidden": "true" }), bar = element("span");
  bar.style.left = `${100 * start}%`;
  bar.style.width = `${100 * part}%`;
  track.append(bar);
  return track;
}

async function openTrace(id) {
  trace = id;
  $("trace-id").textContent = id;
  $("trace-facts").textContent = "";
  $("trace").replaceChildren();
  $("trace-part").hidden = false;
  $("trace-title").focus();
  await showTrace();
}

function closeTrace() {
  const button = [...$("log").querySelectorAll("button")].find(one => one.dataset.trace === trace);
  trace = "";
  $("trace-part").hidden = true;
  (button || $("log").closest(".scroll")).focus();
}

$("log-part").hidden = !hasLog;
if (hasLog) {
  // A click anywhere in a line, unless it ends a selection of text.
  $("log").addEventListener("click", event => {
    const id = event.target.closest("tr")?.querySelector("button")?.dataset.trace;
    if (id && !String(getSelection())) openTrace(id);
  });
  $("trace-close").addEventListener("click", closeTrace);
}

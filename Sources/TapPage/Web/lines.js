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

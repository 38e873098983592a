// The lines of the log: read as they come, searched here. Touches no document.
const hasLog = document.body.dataset.log === "yes";
// More than the process keeps unless it is told otherwise, so that older lines stay while the page is open.
const KEPT_LINES = 5000;
// Oldest first. `last` is the number of the newest line, after which the next answer begins.
const log = { lines: [], last: "" };

async function readLog() {
  const answer = await get(`logs?limit=${KEPT_LINES}${log.last && `&after=${log.last}`}`), lines = [];
  const last = answer.headers.get("Session-Tap-Last-Line") || "";
  await readLines(answer, text => lines.push(lineOf(text)));
  // Another server's answer has no number: then it is all that there is.
  log.lines = last && log.last ? [...log.lines, ...lines].slice(-KEPT_LINES) : lines;
  log.last = last;
}

const textOf = value => value && typeof value === "object" ? JSON.stringify(value) : `${value ?? ""}`;
const LABELS = ["client.name", "server.address", "server.port", "url.template", "http.route", "http.request.method"]
  .map(name => [name.replace(".name", "").replaceAll(".", "_"), name]);

const sideOf = event => event.startsWith("http.client.") ? "made" : event.startsWith("http.server.") ? "served" : "";

// A line with what is asked of it again and again. Its values may be anything: an app writes fields of its own.
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

// A request is known by its end and its span. A line that the app writes while it serves the request has the same span.
const keyOf = of => ["timestamp", "span_id", ...sideOf(of("event")) ? [] : ["message"]].map(of).filter(Boolean).join(" ");

// In milliseconds since 1970: a line says it to the microsecond, Date.parse reads the milliseconds.
const timeOf = text => text.length < 20 ? NaN : Date.parse(`${text.slice(0, 19)}Z`) + Number(`0${text.slice(19, -1)}`) * 1000;

const codeOf = ({ of }) => of("http.response.status_code");
// How it ended. A request may fail, or be cancelled, after the head of a 200.
const statusOf = ({ of }) => of("error.type") || of("outcome") === "cancelled" && "cancelled" || codeOf({ of }) || of("outcome");
const kindOf = ({ of, party }) => of("event").endsWith(".waiting") ? "waits" : party.side;
const clockOf = line => line.of("timestamp").slice(11, 23);
// What was asked for, or what the app says.
const requestOf = ({ of, party }) => of("http.request.method")
  ? `${of("http.request.method")} ${of("url.full") || of("url.path") || party.path || "–"}` : of("message") || of("event");

const isWanted = failure => !chosen.only || (chosen.only === "failed" ? failure : failure && !isRefusal(failure));

// The lines that the reader looks for, newest first.
function foundLines() {
  const text = chosen.text.trim().toLowerCase(), slower = Number(chosen.slower) || 0;
  return log.lines.filter(line => isChosen(line.party) && isWanted(line.failure) && (!slower || line.seconds * 1000 >= slower)
    && (!text || line.text.toLowerCase().includes(text))).reverse();
}

// The newest line of each failure.
const newestFailures = () => new Map(log.lines.filter(line => line.failure)
  .map(line => [failureKey(line.party, line.failure), line]));

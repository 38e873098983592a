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

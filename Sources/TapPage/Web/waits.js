// What hangs: the requests that wait for longer than the limits of their directions, the oldest hundred. The
// process lists them at each refresh.
const waits = { lines: [], count: 0, unstarted: 0, heldSince: 0, limits: {}, trouble: "", seen: new Map() };

async function readWaits() {
  try {
    const { limit_s: limits, held_s: held, count, unstarted, oldest } = await get("page/waits").then(answer => answer.json());
    const seen = new Map(oldest.map(({ id }) => [id, (waits.seen.get(id) || 0) + 1]));
    Object.assign(waits, { lines: oldest.map(waitingLine), count, unstarted, limits, trouble: "", seen,
      heldSince: held > 0 ? Date.now() - 1000 * held : 0 });
  } catch (error) {
    Object.assign(waits, { lines: [], count: 0, unstarted: 0, heldSince: 0, trouble: error.message });
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
  response: ["for the response", "The head of the response has not come."],
  body: ["for the rest of the response", "The head has come, and the body is not complete."],
  credentials: ["for an answer to the challenge", "The app has not answered the server's challenge."],
  redirect: ["for an answer to a redirect", "The app has not answered the redirect."],
  handler: ["for the app's handler", "The app has not responded."],
  client: ["for its caller", "The response is being written."],
};
const waitOf = ({ of }) => of("waiting_for");
const idleOf = ({ numberOf }) => numberOf("idle_s");
// Something has passed within the limit: it takes long, and does not hang. Of a body that is known from the
// second question on, because each looks for what has passed since the one before.
const isMoving = line => idleOf(line) < waits.limits[line.party.side] || waitOf(line) === "body" && !(waits.seen.get(line.id) > 1);

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

// The sentences about the requests that hang, the oldest of which is named.
function waitingSentence(hanging) {
  if (waits.trouble) return `What hangs is unknown: ${waits.trouble}.`;
  const [unstarted, others] = [true, false].map(is => hanging.filter(line => (waitOf(line) === "start") === is)), said = [];
  const heldSince = waits.heldSince || unstarted[0]?.start;
  if (waits.unstarted || waits.heldSince) said.push(
    `URLSession ${waits.unstarted ? `has not started ${plural(waits.unstarted, "request")}` : "starts no requests"}`
    + `${heldSince ? `, since ${timeOfDay(heldSince)}` : ""}: something holds the queue of all sessions.`);
  if (others.length) said.push(`${hasMore() ? "At least " : ""}${plural(others.length, "request")} ${others.length === 1 ? "has" : "have"}`
    + ` waited over ${limitOf(others)}: ${`${waitingName(others[0])} ${WAITS[waitOf(others[0])]?.[0] || ""}`.trim()}, since ${beginOf(others[0])}.`);
  return said.join(" ");
}

function waiting() {
  const shown = waits.lines.filter(line => isChosen(line.party)).map(line => ({ ...line, severity: isMoving(line) ? "INFO" : "WARN" }));
  const hanging = shown.filter(line => !isMoving(line)), more = [...hanging.slice(TABLES.waits.limit), ...shown.filter(isMoving)];
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

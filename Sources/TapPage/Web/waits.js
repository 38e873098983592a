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

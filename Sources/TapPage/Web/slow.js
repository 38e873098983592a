// Why slow: the slowest requests of each row, which the process keeps, as lines, and what its requests usually do.
const slowest = { lines: [] };

async function readHistory() {
  const history = await get("page/history").then(answer => answer.json()).catch(() => undefined);
  if (history) slowest.lines = (history.slowest || []).map(one => slowestLine(history.parties[one.party], one));
  return history;
}

function slowestLine({ direction, ...labels }, { party, end_s: end, ...fields }) {
  const event = `http.${direction === "inbound" ? "server" : "client"}.request`, timestamp = new Date(1000 * end).toISOString();
  const named = LABELS.filter(([label]) => labels[label]).map(([label, name]) => [name, labels[label]]);
  return Object.assign(lineOf(JSON.stringify({ timestamp, event, ...Object.fromEntries(named), ...fields })), { isGone: true });
}

// The slowest request of a row in the time chosen. Its line may be in the log, with more. What timed out
// is a failure, with a row of its own: it comes last.
function slowestOf(row, lines = [...log.lines, ...slowest.lines]) {
  const isIn = ({ party, of, end, seconds }) => seconds >= 0 && of("event").endsWith(".request")
    && end > epoch + performance.now() - (chosen.minutes * MINUTE || WINDOW) && requestKey(party) === requestKey(row);
  const isLate = ({ failure }) => failure === "timeout";
  return lines.filter(isIn).sort((a, b) => isLate(a) - isLate(b) || b.seconds - a.seconds)[0];
}

async function openSlowest(row) {
  if (hasHistory) await readHistory();
  const line = slowestOf(row);
  if (line) choose({ request: line.of("span_id") || line.key, trace: "" });
  else filterBy(row);
}

// The mean of all requests to the path, by phase: the method of a phase is unknown.
function usualOf({ client, host, path }) {
  const isTheirs = one => one.client === client && one.host === host && one.path === path && !one.isCached;
  const of = place => grouped(sumsOf(place, isWhole("phases")), known[place].bounds, one => one.phase, isTheirs);
  const [{ numbers: [count, time] } = { numbers: [] }] = of("made"), phases = of("phases");
  const pieces = piecesOf(time / count, name => phases.find(one => one.phase === name)?.numbers[SUM] / count);
  return { count, time: time / count, pieces, words: `${plural(count, "request")} ${path ? "to this path" : "without a template"}` };
}

// How a request differs from the usual one, and in which phase most.
function difference(one, pieces, usual) {
  const more = one.seconds - usual.time, theirs = `the mean of ${usual.words}, ${seconds(usual.time)}`;
  if (!(usual.count > 1)) return "";
  if (more < usual.time / 2) return `It took ${seconds(one.seconds)}: ${more < 0 ? "less than" : "about"} ${theirs}.`;
  const growth = pieces.map(({ name, time }) => ({ name, time: time - (usual.pieces.find(one => one.name === name)?.time || 0) }))
    .reduce((a, b) => b.time > a.time ? b : a);
  return `It took ${seconds(more)} longer than ${theirs}: ${seconds(growth.time)} more in ${growth.name}.`;
}

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

// Opens the slowest request of a row in the time chosen. Its line may be in the log, with more.
async function openSlowest(row) {
  if (hasHistory) await readHistory();
  const isIn = ({ party, of, end, seconds }) => seconds >= 0 && of("event").endsWith(".request")
    && end > epoch + performance.now() - (chosen.minutes * MINUTE || WINDOW) && requestKey(party) === requestKey(row);
  const [line] = [...log.lines, ...slowest.lines].filter(isIn).sort((a, b) => b.seconds - a.seconds);
  if (line) choose({ request: line.of("span_id") || line.key, trace: "" });
  else filterBy(row);
}

// The mean of all requests to the path, by phase: the method of a phase is unknown.
function usualOf({ client, host, path }) {
  const isTheirs = one => one.client === client && one.host === host && one.path === path && !one.isCached;
  const isRecent = isWhole("phases"), add = (place, isWanted) => sumsOf(place, isRecent).filter(one => isTheirs(one) && isWanted(one))
    .reduce(([count, time], { numbers }) => [count + numbers[COUNT], time + numbers[SUM]], [0, 0]);
  const [count, time] = add("made", () => true), phase = name => add("phases", one => one.phase === name);
  const pieces = piecesOf(time / count, name => phase(name)[0] ? phase(name)[1] / count : undefined);
  return { count, time: time / count, pieces };
}

// How a request differs from the usual one, and in which phase most.
function difference(one, pieces, usual) {
  const more = one.seconds - usual.time, theirs = `the mean of ${plural(usual.count, "request")} to this path, ${seconds(usual.time)}`;
  if (!(usual.count > 1)) return "";
  if (more < usual.time / 2) return `It took ${seconds(one.seconds)}: ${more < 0 ? "less than" : "about"} ${theirs}.`;
  const growth = pieces.map(({ name, time }) => ({ name, time: time - (usual.pieces.find(one => one.name === name)?.time || 0) }))
    .reduce((a, b) => b.time > a.time ? b : a);
  return `It took ${seconds(more)} longer than ${theirs}: ${seconds(growth.time)} more in ${growth.name}.`;
}

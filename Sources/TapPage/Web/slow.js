// The requests that a row opens: the process keeps the slowest of each row and the newest of each failure,
// which become lines here. And what the requests to a path take on average.
function keptLine({ side, labels: text }, { series, end_us: end, ...fields }) {
  const event = `http.${side === "served" ? "server" : "client"}.request`, labels = labelsOf(text);
  // To the microsecond, as in the log, so that this line has the same key as the request's line there.
  const timestamp = `${new Date(Math.floor(end / 1000)).toISOString().slice(0, -1)}${`${end % 1000}`.padStart(3, "0")}Z`;
  const named = LABELS.filter(([label]) => labels[label]).map(([label, name]) => [name, labels[label]]);
  return Object.assign(lineOf(JSON.stringify({ timestamp, event, ...Object.fromEntries(named), ...fields })), { isGone: true });
}

// The slowest request of a row in the chosen time. Time-outs come last, because they have a row of their own.
function slowestOf(row, lines) {
  const isIn = ({ party, of, end, seconds }) => seconds >= 0 && of("event").endsWith(".request")
    && end > epoch + performance.now() - (chosen.minutes * MINUTE || WINDOW) && isOf(row, party);
  const isLate = ({ failure }) => failure === "timeout";
  return lines.filter(isIn).sort((a, b) => isLate(a) - isLate(b) || b.seconds - a.seconds)[0];
}

// The newest request of a row that failed.
const newestOf = (row, lines) => lines.filter(line => line.failure && isOf(row, line.party)).reduce((a, b) => a?.end > b.end ? a : b, undefined);

// A route with several methods is one row.
const isOf = (row, party) => requestKey({ ...party, method: row.method && party.method }) === requestKey(row);

async function openRow(row) {
  await readHistory().catch(() => {});
  const lines = [...log.lines, ...kept.lines], active = waits.lines.find(line => line.hangs && (!row.side || isOf(row, line.party)));
  const line = /^(hangs|held)$/.test(row.kind) ? active : (/^(fails|refused)$/.test(row.kind) ? newestOf : slowestOf)(row, lines);
  if (line) openLine(line);
  else if (row.side) filterBy(row);
}

// The mean of all requests to the path, by phase, over all methods: phases have no label for the method.
function usualOf({ client, host, path }) {
  const isTheirs = one => one.client === client && one.host === host && one.path === path && !one.isCached;
  const of = place => grouped(inSteps(place), known[place]?.bounds || [], one => one.phase, isTheirs);
  const [{ numbers: [count, time] } = { numbers: [] }] = of("made"), phases = of("phases");
  const pieces = piecesOf(time / count, name => phases.find(one => one.phase === name)?.numbers[SUM] / count);
  return { count, time: time / count, pieces, words: `${plural(count, "request")} ${path ? "to this path" : "without a template"}` };
}

// What the process says of the time of a request.
async function readVerdict(one, pieces, roundTrip, usual) {
  const known = pieces.filter(({ name }) => name !== "unknown"), times = list => list.map(({ name, time }) => [name, time]);
  const query = new URLSearchParams([["time", one.seconds], ...times(known), ["cut", one.of("cut_off_phase")], ["answered", codeOf(one) ? "yes" : "no"],
    ...roundTrip >= 0 ? [["round_trip", roundTrip]] : [],
    ...usual.count > 1 ? [["count", usual.count], ["mean", usual.time], ...times(usual.pieces).map(([name, time]) => [`mean_${name}`, time])] : []]);
  return (await get(`page/verdict?${query}`).then(answer => answer.text())).split("\n");
}

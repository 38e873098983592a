// Where the time goes: the phases of one request, of the requests of a trace, and of all requests to a
// server.

const PHASE_NAMES = Object.keys(WORDS.phases).slice(0, -1);

// The phases in their order, and the rest of the time as `unknown`. After redirects the phases are those of
// the last leg, so the rest comes first.
function piecesOf(time, timeOf, isAfterRedirect) {
  const pieces = PHASE_NAMES.map(name => ({ name, time: timeOf(name) })).filter(piece => piece.time >= 0);
  const rest = { name: "unknown", time: time - pieces.reduce((sum, piece) => sum + piece.time, 0) };
  if (rest.time <= time / 200) return pieces;
  return isAfterRedirect ? [rest, ...pieces] : [...pieces, rest];
}

const piecesOfLine = ({ seconds = 0, numberOf }) =>
  piecesOf(seconds, name => numberOf(`${name}_s`), numberOf("http.request.resend_count") > 0);

const hasPhases = client => inSteps("phases").some(one => one.client === client);
const noPhases = client => `${client ? `The client ${client}` : "This client"} reports no phases.`;

const barOf = (pieces, total) => pieces.map(({ name, time }) => {
  const node = element(`span.${name}`, { title: `${name} ${seconds(time)}, ${percent(total ? time / total : 0)}` });
  node.style.flexGrow = total ? 100 * time / total : 0;
  return node;
});

// By client and host, the most time first. Each request has a duration, but a phase may be unknown.
function phaseGroups() {
  const of = (list, isWanted = isChosen) => new Map(grouped(list, [], serverKey, isWanted).map(one => [one.key, one.numbers]));
  const made = inSteps("made").filter(one => !one.isCached), requests = of(made);
  // Connections have no path: they are compared with all requests to the server that had a connection.
  const [opened, trips, sentAgain] = ["opened", "roundTrips", "sentAgain"].map(place => of(inSteps(place), isChosenServer));
  const every = of(made, isChosenServer), without = of(inSteps("failures"), one => isChosenServer(one) && /^(connect|dns|tls)$/.test(one.failure));
  const timeouts = of(inSteps("failures"), one => isChosen(one) && one.failure === "timeout");
  const phases = Map.groupBy(grouped(inSteps("phases"), [], one => serverKey(one) + one.phase), serverKey);
  return [...requests].map(([key, [count, time]]) => {
    const connected = every.get(key)[COUNT] - (without.get(key)?.[COUNT] || 0);
    const [tripCount, tripTime] = trips.get(key) || [];
    const [client, host] = JSON.parse(key);
    return { key, client, host, phases: phases.get(key) || [], count, time, roundTrip: tripTime / tripCount,
      reused: Math.max(0, 1 - opened.get(key)?.[COUNT] / connected), sentAgain: sentAgain.get(key)?.[COUNT], timeouts: timeouts.get(key)?.[COUNT] };
  }).sort((a, b) => b.time - a.time);
}

// A bar, and the same in words.
function phaseItem({ client, host, phases, count, time, roundTrip, reused, sentAgain, timeouts }) {
  const facts = [reused >= 0 && `${percent(reused)} on a reused connection`, roundTrip >= 0 && `${seconds(roundTrip)} round trip`,
    sentAgain && `${plural(sentAgain, "segment")} sent again`].filter(Boolean)
    .map(fact => fact + (chosen.path && ", on all paths"));
  const pieces = piecesOf(time, name => phases.find(one => one.phase === name)?.numbers[SUM]);
  const means = pieces.map(piece => ({ ...piece, time: piece.time / count }));
  return element("li", element("p", element("b", [client || "–", "→", host || "–", chosen.path].join(" ").trim()),
    element("span.now", element("b", `${seconds(time / count)} mean`),
      [plural(count, "request"), ...facts].map(fact => element("span", fact)))),
    ...!hasPhases(client) ? [element("p.verdict", noPhases(client))] : [
      element("div.bar", HIDDEN, barOf(means, time / count)),
      element("p", means.map(({ name, time }) => element(`span.phase.${name}`, `${name} ${seconds(time)}`))),
      timeouts ? element("p.verdict", `${plural(timeouts, "request")} timed out: what the server did meanwhile is unknown.`) : ""]);
}

// Of a route, the time in which its requests, answered or not, waited for their calls, and the rest,
// which is the app's own.
function shareGroups() {
  const upstream = Map.groupBy(inSteps("upstream"), one => one.path), calls = Map.groupBy(grouped(inSteps("calls"), [], one => one.key, () => true), one => one.path);
  return grouped(inSteps("served"), [], one => one.path).filter(({ path }) => upstream.has(path)).map(({ path, numbers: [count, time] }) => {
    const waited = Math.min(time, upstream.get(path).reduce((sum, one) => sum + one.numbers[SUM], 0));
    return { key: path, path, count, time, calls: calls.get(path) || [], pieces: [{ name: "upstream", time: waited / count }, { name: "own", time: (time - waited) / count }] };
  }).sort((a, b) => b.time - a.time);
}

function shareItem({ path, count, time, calls, pieces }) {
  return element("li", element("p", element("b", path || "without a route"), element("span.now", element("b", `${seconds(time / count)} mean`), element("span", plural(count, "request")))),
    element("div.bar", HIDDEN, barOf(pieces, time / count)),
    element("p", pieces.map(({ name, time }) => element(`span.phase.${name}`, `${name} ${seconds(time)}`)),
      calls.sort((a, b) => b.numbers[SUM] - a.numbers[SUM]).slice(0, 5).map(({ client, numbers: [calls, time] }) =>
        element("span", `${client || "–"}: ${plural(calls / count, "call")}, ${seconds(time / count)}`))));
}

// The elements stay while their text is the same, which keeps a selection and saves time.
function showItems(id, groups, itemOf) {
  const said = JSON.stringify([chosen.path, groups.map(group => [group.key, group.time])]);
  if ($(id).dataset.said !== said) $(id).replaceChildren(...groups.slice(0, 10).map(itemOf));
  $(id).dataset.said = said;
}

function phases() {
  const shares = shareGroups();
  $("shares-part").hidden = !shares.length;
  showItems("shares", shares, shareItem);
  const groups = phaseGroups();
  $("phases-part").hidden = !groups.length;
  const { transfer_info: info, connection_info: connections } = seriesOf("build")[0]?.labels || {};
  setText($("phases-what"), "The mean request by phase. Each bar is one whole request."
    + (info === "none" ? " This app does not see its transfers." : connections === "none" ? " This app does not see its connections." : ""));
  showItems("phases", groups, phaseItem);
}

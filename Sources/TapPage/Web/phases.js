// Where the time goes: the phases of one request, of all of a trace, and of all to a server.
// Each with its meaning, and with what a slow server does where the network may as well be what takes the time.
const PHASES = {
  queue: ["wait for a free connection of the session to this host"],
  resolve: ["look-up of the host's name"],
  connect: ["TCP handshake", "accepts"],
  tls: ["TLS handshake"],
  upload: ["request body", "reads"],
  processing: ["the server's work"],
  response: ["the server's work and the response, with an unknown border", "answers"],
  transfer: ["response body", "writes"],
  local: ["this process"],
  unknown: ["no phase tells: redirects, challenges, or a wait for what never came"],
};
const PHASE_NAMES = Object.keys(PHASES).slice(0, -1);

// The pieces of a time, in their order. After redirects the phases are those of the last leg; else what is left came behind them.
function piecesOf(time, timeOf, isAfterRedirect) {
  const pieces = PHASE_NAMES.map(name => ({ name, time: timeOf(name) })).filter(piece => piece.time !== undefined);
  const rest = { name: "unknown", time: time - pieces.reduce((sum, piece) => sum + piece.time, 0) };
  if (!pieces.length || rest.time <= time / 200) return pieces;
  return isAfterRedirect ? [rest, ...pieces] : [...pieces, rest];
}

const piecesOfLine = ({ seconds = 0, numberOf }) =>
  piecesOf(seconds, name => numberOf(`${name}_s`), numberOf("http.request.resend_count") > 0);

// Says which phase took most of it. The answer cannot come before the network's round trip: the rest of `processing` is the
// server's.
function verdict(pieces, time, roundTrip) {
  const { name, time: most } = pieces.reduce((a, b) => b.time > a.time ? b : a), isAnswer = name === "processing" && roundTrip >= 0;
  const [words, slow] = isAnswer && roundTrip > most / 2 ? ["the network's way there and back"] : PHASES[name];
  return element("p.verdict",
    `${percent(most / time)} is ${name}: ${words}${slow ? `, by the network or a server that ${slow} slowly` : ""}.`,
    isAnswer ? ` The network's round trip is ${seconds(roundTrip)} of ${seconds(most)}.` : "");
}

const barOf = (pieces, total) => pieces.map(({ name, time }) => {
  const node = element(`span.${name}`, { title: `${name} ${seconds(time)}, ${percent(total ? time / total : 0)}` });
  node.style.flexGrow = total ? 100 * time / total : 0;
  return node;
});

// By client and host, those with the most time first. A request is known by its duration; a phase may be unknown.
function phaseGroups(isRecent) {
  const of = (place, isWanted = isChosen, list = sumsOf(place, isRecent)) => new Map(
    grouped(list, known[place].bounds, serverKey, isWanted).map(one => [one.key, one.numbers]));
  const made = sumsOf("made", isRecent).filter(one => !one.isCached), requests = of("made", isChosen, made);
  // Of connections no path is known: they are set against all requests to the server that had one.
  const [opened, trips, sentAgain] = ["opened", "roundTrips", "sentAgain"].map(place => of(place, isChosenServer));
  const every = of("made", isChosenServer, made), without = of("made", one => isChosenServer(one)
    && /^(connect|dns|tls)$/.test(one.failure), isRecent ? inSteps("failures") : made);
  const phases = grouped(sumsOf("phases", isRecent), known.phases.bounds, one => serverKey(one) + one.phase);
  return [...Map.groupBy(phases, serverKey)].filter(([key]) => requests.has(key)).map(([key, [...phases]]) => {
    const [count, time] = requests.get(key), connected = every.get(key)[COUNT] - (without.get(key)?.[COUNT] || 0);
    const [tripCount, tripTime] = trips.get(key) || [];
    return { key, client: phases[0].client, host: phases[0].host, phases, count, time, roundTrip: tripTime / tripCount,
      reused: Math.max(0, 1 - opened.get(key)?.[COUNT] / connected), sentAgain: sentAgain.get(key)?.[COUNT] };
  }).sort((a, b) => b.time - a.time);
}

// A bar, and the same in words for those who do not see it.
function phaseItem({ client, host, phases, count, time, roundTrip, reused, sentAgain }) {
  const facts = [reused >= 0 && `${percent(reused)} on a reused connection`, roundTrip >= 0 && `${seconds(roundTrip)} round trip`,
    sentAgain && `${plural(sentAgain, "segment")} sent again`].filter(Boolean);
  if (facts.length && chosen.path) facts.push("on all paths");
  const pieces = piecesOf(time, name => phases.find(one => one.phase === name)?.numbers[SUM]);
  const means = pieces.map(piece => ({ ...piece, time: piece.time / count }));
  return element("li", element("p", element("b", [client || "–", "→", host || "–", chosen.path].join(" ").trim()),
    element("span.now", element("b", `${seconds(time / count)} mean`),
      [plural(count, "request"), ...facts].map(fact => element("span", fact)))),
    element("div.bar", HIDDEN, barOf(means, time / count)),
    element("p", means.map(({ name, time }) => element(`span.phase.${name}`, `${name} ${seconds(time)}`))),
    means.length ? verdict(means, time / count, roundTrip) : "");
}

function phases() {
  const isRecent = isWhole("phases"), groups = phaseGroups(isRecent);
  setTitle("phases", "Where the time goes", isRecent);
  $("phases-part").hidden = !seriesOf("made").some(isChosen);
  $("phases-none").hidden = groups.length > 0;
  $("phases-there").hidden = !groups.length;
  // Elements stay while what they say does: a selection, and the processor.
  const said = JSON.stringify([chosen.path, groups.map(group => [group.key, group.time])]);
  if ($("phases").dataset.said !== said) $("phases").replaceChildren(...groups.slice(0, 10).map(phaseItem));
  $("phases").dataset.said = said;
  if ($("phase-numbers").open) fill("by-phase", groups.flatMap(({ phases }) =>
    PHASE_NAMES.flatMap(name => phases.filter(one => one.phase === name))));
}

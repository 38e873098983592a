// Where the time goes: the phases of one request, of all of a trace, and of all to a server.
"use strict";

// Each with its meaning, and with what it says where it takes most of the time.
const PHASES = {
  queue: ["wait for a connection", "it waited for a connection, since its session had no free one to this host"],
  resolve: ["name look-up", "the look-up of the host's name"],
  connect: ["TCP", "the TCP handshake: the network, or a server that accepts slowly"],
  tls: ["handshake", "the TLS handshake: its round trips, and both sides' work"],
  upload: ["request body", "the request's body on its way: the network, or a server that reads slowly"],
  processing: ["request out, server works", "the server's work"],
  transfer: ["response body", "the response's body on its way: the network, or a server that writes slowly"],
  local: ["this process", "this process, before and after the transfer"],
  unknown: ["the rest: redirects, challenges, a wait for what never came",
    "no phase tells: redirects, challenges, or a wait for what never came"],
};
const PHASE_NAMES = Object.keys(PHASES).slice(0, -1);

// The pieces of a time, in their order. After redirects the phases are those of the last leg; else what is left came behind them.
function piecesOf(time, timeOf, isAfterRedirect) {
  const pieces = PHASE_NAMES.map(name => ({ name, time: timeOf(name) })).filter(piece => piece.time !== undefined);
  const rest = { name: "unknown", time: time - pieces.reduce((sum, piece) => sum + piece.time, 0) };
  if (!pieces.length || rest.time <= time / 200) return pieces;
  return isAfterRedirect ? [rest, ...pieces] : [...pieces, rest];
}

const secondsOf = (line, name) => typeof line.fields[name] === "number" ? line.fields[name] : undefined;
const piecesOfLine = line => piecesOf(line.seconds || 0, name => secondsOf(line, `${name}_s`),
  secondsOf(line, "http.request.resend_count") > 0);

// Says which phase took most of it. The answer cannot come before the network's round trip: the rest of `processing` is the
// server's.
function verdict(pieces, time, roundTrip) {
  const most = pieces.reduce((a, b) => b.time > a.time ? b : a);
  const isNetwork = most.name === "processing" && roundTrip > most.time / 2;
  const beside = most.name !== "processing" || roundTrip === undefined ? ""
    : ` The network's round trip is ${seconds(roundTrip)} of ${seconds(most.time)}.`;
  const what = isNetwork ? "the network's way there and back" : PHASES[most.name][1];
  return `${percent(most.time / time)} is ${most.name}: ${what}.${beside}`;
}

function barOf(pieces, total) {
  return pieces.map(({ name, time }) => {
    const node = element("span", { class: name, title: `${name} ${seconds(time)}, ${percent(total ? time / total : 0)}` });
    node.style.flexGrow = total ? 100 * time / total : 0;
    return node;
  });
}

// By client and host, those with the most time first. A request is known by its duration; a phase may be unknown.
function phaseGroups() {
  const groups = new Map();
  const groupOf = ({ client, host }) => {
    const key = serverKey({ client, host });
    if (!groups.has(key)) {
      groups.set(key, { key, client, host, phases: new Map(), opened: NaN, trips: 0, tripTime: 0, sentAgain: 0, requests: 0,
        connected: 0, time: 0 });
    }
    return groups.get(key);
  };
  for (const one of known.phases.values()) {
    if (!isChosen(one)) continue;
    const { phases } = groupOf(one);
    phases.set(one.phase, add(phases.get(one.phase) || nothing(known.phaseBounds), one.value));
  }
  const eachServer = (values, take) => { for (const one of values.values()) if (isChosenServer(one)) take(groupOf(one),
    one.value); };
  eachServer(known.opened, (group, count) => group.opened = (group.opened || 0) + count);
  eachServer(known.roundTrips, (group, numbers) => { group.trips += numbers[COUNT]; group.tripTime += numbers[SUM]; });
  eachServer(known.sentAgain, (group, count) => group.sentAgain += count);
  for (const { party, labels, numbers } of known.made.series.values()) {
    const group = groups.get(serverKey(party));
    if (!group || labels.cache === "hit" || !isChosenServer(party)) continue;
    if (!/^(connect|dns|tls)$/.test(labels.error_type)) group.connected += numbers[COUNT];
    if (!isChosen(party)) continue;
    group.requests += numbers[COUNT];
    group.time += numbers[SUM];
  }
  return [...groups.values()].filter(group => group.requests).sort((a, b) => b.time - a.time);
}

const plural = (count, word) => `${number(count)} ${word}${count === 1 ? "" : "s"}`;

// A bar, and the same in words for those who do not see it.
function phaseItem({ client, host, phases, requests, connected, opened, trips, tripTime, sentAgain, time }) {
  const facts = element("span", { class: "now" }, element("b", {}, `${seconds(time / requests)} mean`),
    element("span", {}, plural(requests, "request")));
  const reused = connected ? Math.max(0, 1 - opened / connected) : NaN, roundTrip = trips ? tripTime / trips : undefined;
  if (Number.isFinite(reused)) facts.append(element("span", {}, `${percent(reused)} on a reused connection`));
  if (trips) facts.append(element("span", {}, `${seconds(roundTrip)} round trip`));
  if (sentAgain) facts.append(element("span", {}, `${plural(sentAgain, "segment")} sent again`));
  const pieces = piecesOf(time, name => phases.get(name)?.[SUM]);
  const means = pieces.map(piece => ({ ...piece, time: piece.time / requests }));
  return element("li", {}, element("p", {}, element("b", {},
    [shownOr(client), "→", shownOr(host), chosen.path].join(" ").trim()), facts),
    element("div", { class: "bar", "aria-hidden": "true" }, ...barOf(means, time / requests)),
    element("p", {}, ...means.map(({ name, time }) => element("span", { class: `phase ${name}` }, `${name} ${seconds(time)}`))),
    ...(means.length ? [element("p", { class: "verdict" }, verdict(means, time / requests, roundTrip))] : []));
}

function phases() {
  const groups = phaseGroups(), isKnown = groups.some(({ phases }) => phases.size);
  $("phases-part").hidden = ![...known.made.series.values()].some(one => isChosen(one.party));
  $("phases-none").hidden = isKnown;
  $("phases-there").hidden = !isKnown;
  // Elements stay while what they say does: a selection, and the processor.
  const said = JSON.stringify(groups.map(group => [group.key, group.time]));
  if ($("phases").dataset.said !== said) $("phases").replaceChildren(...groups.slice(0, 10).map(phaseItem));
  $("phases").dataset.said = said;
  if (!$("phase-numbers").open) return;
  fill("by-phase", groups.flatMap(({ key, client, host, phases }) => PHASE_NAMES.filter(name => phases.has(name)).map(phase =>
    ({ key: key + phase, client, host, phase, numbers: phases.get(phase), bounds: known.phaseBounds }))));
}

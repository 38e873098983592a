// A drawer beside the page, with one request and its trace.

// Keys that the drawer shows in another way. All other keys are fields.
const SAID = /^(?!.*re(send|trans))(timestamp|waiting_for|severity|event|message|outcome|cut_off_phase|trace_id|span_id|\w+_s|(http|url|server|client|network|connection|error)\..*)$/;
const GONE = "any more. The log's file may have it.";

// What the drawer shows, and the lines that it has seen: the process may have dropped older ones since.
const drawer = { key: "", lines: new Map() };

function drawDrawer() {
  const isOpen = chosen.request || chosen.trace, one = chosen.request && lineWith(chosen.request);
  const about = JSON.stringify([chosen.request, chosen.trace]), trace = chosen.trace || one?.trace || "";
  if (drawer.about !== about) drawer.lines.clear();
  for (const line of [...kept.lines, ...log.lines, ...one ? [one] : []]) {
    if (line === one || trace && line.trace === trace) drawer.lines.set(line.key, line);
  }
  // An active request changes.
  const key = `${about} ${drawer.lines.size} ${one?.isGone} ${one?.isActive && one.text} ${one?.isOver}`;
  if (isOpen && $("drawer").hidden) drawer.opener = document.activeElement;
  $("drawer").hidden = !isOpen;
  if (!isOpen) {
    if (drawer.key) drawer.opener?.focus({ preventScroll: true });
    drawer.key = drawer.about = "";
  } else if (drawer.key !== key && !(drawer.about === about && hasSelection())) {
    setText($("drawer-title"), one ? requestOf(one) : chosen.request ? "This request" : `Trace ${trace}`);
    const content = [one ? requestContent(one) : !trace && element("p", `This process holds no line of it ${GONE}`),
      trace && traceContent(trace, one)];
    $("drawer-content").replaceChildren(...content.flat(3).filter(Boolean));
    // A new content scrolls to its heading; one that has only more lines stays where it is.
    if (drawer.about !== about) {
      $("drawer").scrollTop = 0;
      $("drawer-title").focus();
    }
    Object.assign(drawer, { key, about });
  }
}

// The line of the log before that of the history, because it has more keys.
function lineWith(key) {
  const one = [...waits.lines, ...log.lines, ...kept.lines].find(line => line.key === key) || drawer.lines.get(key);
  if (!one?.isActive || waits.lines.includes(one)) return one;
  // It has ended since: its line has the same span.
  const span = one.of("span_id"), isEnd = line => line.of("span_id") === span && line.of("event").endsWith(".request");
  return span && [...log.lines, ...kept.lines].find(isEnd) || { ...one, isOver: !waits.trouble };
}

// A drawing does not take away a text that is selected.
const hasSelection = () => String(getSelection()) && $("drawer-content").contains(getSelection().anchorNode);

const openLine = line => choose({ request: line.key, trace: "" });
const closeDrawer = () => choose({ request: "", trace: "" });

function requestContent(one) {
  const fields = Object.entries(one.fields).filter(([name]) => !SAID.test(name)).map(([name, value]) => [name, textOf(value)]);
  const trouble = troubleOf(one), pieces = piecesOfLine(one), roundTrip = one.numberOf("network.round_trip_s");
  const usual = usualOf(one.party), said = element("div");
  const isUnknown = pieces.every(({ name }) => name === "unknown") && !hasPhases(one.party.client);
  const times = () => one.party.side === "served" ? sharesOf(one)
    : isUnknown ? [element("p.verdict", noPhases(one.party.client))] : [said, waterfall(one, pieces, roundTrip, usual)];
  if (one.seconds > 0 && one.party.side === "made") readVerdict(one, pieces, roundTrip, usual)
    .then(sentences => said.replaceChildren(...sentences.map(text => element("p.verdict", text)))).catch(() => {});
  return [
    trouble && element(`p.trouble.${one.of("severity")}`, trouble),
    factList(factsOf(one)),
    one.seconds !== undefined && kindOf(one) !== "waits" && [element("h3", "Where the time went"), times()],
    fields.length > 0 && [element("h3", "Fields"), factList(fields)],
    one.isActive ? [] : one.isGone ? element("p.none", `This process holds no line of it ${GONE}`) : element("details", element("summary", "Its line"), element("pre", one.text)),
  ];
}

// What a served request waited for, and what it took by itself.
function sharesOf(one) {
  const [upstream, own, calls] = ["upstream_s", "own_s", "upstream_requests"].map(one.numberOf), total = one.seconds;
  if (!(upstream >= 0)) return [element("p.verdict", "It made no calls: all of it is the app's own time.")];
  return [element("p.verdict", `${seconds(upstream)} of ${seconds(total)} it waited for ${plural(calls, "call")}, which the trace shows.`),
    element("ol.waterfall", stepOf(total, "upstream", "processing", "at least one call was active", 0, upstream),
      stepOf(total, "own", "local", "the app itself", upstream, own))];
}

// The sentence about the error, or about what the request waits for.
function troubleOf(one) {
  const { of, party, failure } = one, code = codeOf(one), who = party.side === "served" ? "This app" : "The server";
  if (one.isOver) return "It is not active any more.";
  if (kindOf(one) === "waits") return one.isActive ? one.why || "" : "It had not ended when this line was written.";
  const what = failure && (failure === code ? `${who} answered ${failureText(code)}.`
    : `It failed: ${failureText(failure)}${code && `, after the head of a ${code}`}.`);
  return [what || of("outcome") === "cancelled" && "It was cancelled, which is no error.", of("exception.message")]
    .filter(Boolean).join(" ");
}

function factsOf(one) {
  const { of, party, numberOf, fields, start } = one;
  const isReused = fields["connection.reused"];
  const [version, address] = ["network.protocol.version", "network.peer.address"].map(of);
  return [
    [of("event") === "app" ? "Said" : "Began", dateAndTime(start)],
    ...kindOf(one) !== "waits" ? [["Took", seconds(one.seconds)]] : [[one.isOver ? "Was active" : "Active", age(one.seconds)],
      ["Waits for", of("waiting_for")], ["Nothing passed for", isFinite(idleOf(one)) && age(idleOf(one))]],
    ["Status", codeOf(one)],
    [party.side === "served" ? "Asked by" : "Made by", of("client.address") || party.client],
    ["To", `${party.host} ${address && `at ${address}`}`.trim()], ["Path", party.path],
    ["Sent", bytes(numberOf("http.request.body.size"))], ["Received", bytes(numberOf("http.response.body.size"))],
    ["First byte after", seconds(numberOf("time_to_first_byte_s"))],
    ["Connection", [version && `HTTP/${version}`, isReused ? "reused" : isReused === false && "new"].filter(Boolean).join(", ")],
    ["Trace", one.trace], ["Span", of("span_id")],
  ].filter(([, text]) => text && text !== "–");
}

const factList = facts => element("dl.facts", facts.map(([name, text]) =>
  element("div", element("dt", name), element("dd", text))));

// A row of a waterfall: its name, its bar, and a text at the end.
function rowOf(name, words, bar, start, part, text) {
  bar.style.left = `${100 * Math.min(1, Math.max(0, start))}%`;
  bar.style.width = `${100 * Math.min(1, part)}%`;
  return [element("span", element("b", name), ` ${words}`), element("span.track", HIDDEN, bar),
    element("span.number", text)];
}

// A row of a request's waterfall.
const stepOf = (total, name, kind, words, start, time) =>
  element("li.step", rowOf(name, words, element(`span.${kind}`), start / total, time / total, seconds(time)));

// Each phase begins where the one before ends. The round trip begins with `processing`, because it is a part
// of it.
function waterfall(one, pieces, roundTrip, usual) {
  const total = Math.max(one.seconds, usual.time || 0, 1e-9);
  let start = 0;
  return element("ol.waterfall", pieces.flatMap(({ name, time }) => {
    const rows = [stepOf(total, name, name === one.of("cut_off_phase") ? `${name}.cut` : name, WORDS.phases[name], start, time)];
    if (name === "processing" && roundTrip >= 0) rows.push(stepOf(total, "round trip", "trip", "the network's part of it", start, roundTrip));
    start += time;
    return rows;
  }), usual.count > 1 ? element("li.step", rowOf("mean", `of ${usual.words}`,
    element("span.bar", barOf(usual.pieces, usual.time)), 0, usual.time / total, seconds(usual.time))) : "");
}

// The request without its host and query, for a narrow column.
const nameOf = line => line.of("http.request.method") ? requestOf(line).replace(/ \w+:\/\/[^/]+/, " ").replace(/\?.*/, "")
  : requestOf(line);

// The rows of a trace in the order of their begin: one for each request, with its end or else what is known
// last, and one for each other line.
function rowsOf(trace) {
  const rows = new Map(), weightOf = line => [/\.request$/.test(line.of("event")), line.isActive || false, line.end];
  for (const line of drawer.lines.values()) {
    if (line.trace !== trace || !isFinite(line.start)) continue;
    const key = line.party.side && line.of("span_id") ? `${line.party.side} ${line.of("span_id")}` : line.key, there = rows.get(key);
    const [mine, theirs] = [line, there || line].map(weightOf), place = mine.findIndex((one, i) => one !== theirs[i]);
    if (!there || mine[place] > theirs[place]) rows.set(key, line);
  }
  return [...rows.values()].sort((a, b) => a.start - b.start || b.end - a.end);
}

// A made request has the colours of its phases, a served one a frame.
function traceContent(trace, one) {
  const spans = rowsOf(trace);
  if (!spans.length) return [element("h3", "Trace"), element("p", `This process holds no line of this trace ${GONE}`)];
  const first = spans[0].start, total = Math.max(...spans.map(({ end }) => end - first), 1e-3);
  const items = spans.map(line => {
    const { party, of, start, end, seconds: time } = line;
    const bar = element(`span.bar.${party.side}`, party.side === "made" ? barOf(piecesOfLine(line), time) : []);
    return element("li", element(`button.step.${of("severity")}`, { onclick: () => openLine(line),
      ...(line === one || one?.isActive && line.of("span_id") === one.of("span_id")) && { "aria-current": true } },
      rowOf(`${kindOf(line) || "said"} ${party.client}`.trim(), nameOf(line), bar, (start - first) / total, (end - start) / total,
        [`${statusOf(line)} ${time === undefined ? "" : seconds(time)}`.trim(), line.numberOf("own_s") >= 0 && `own ${seconds(line.numberOf("own_s"))}`].filter(Boolean).join(", "))));
  });
  return [element("h3", `Trace: ${plural(spans.length, "row")}, ${seconds(total / 1000)} in all`),
    element("ol.waterfall.trace", items)];
}

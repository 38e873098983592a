// One request, and all of its trace, in a drawer beside the page.
"use strict";

// What the drawer shows in words of its own; all else in a line is a field.
const SAID = /^(timestamp|severity|event|client|message|outcome|from_cache|trace_id|span_id|\w+_s|(http|url|server|client|network|connection|error)\..*)$/;

// What the drawer has been drawn of, and all lines of it that there were: older ones may have been dropped since.
const drawer = { key: "", lines: new Map() };

function drawDrawer() {
  const isOpen = hasLog && (chosen.request || chosen.trace);
  const one = chosen.request && (lineAt(chosen.request) || drawer.lines.get(chosen.request));
  const about = JSON.stringify([chosen.request, chosen.trace]), trace = chosen.trace || one?.trace || "";
  if (drawer.about !== about) drawer.lines.clear();
  if (one) drawer.lines.set(one.key, one);
  if (trace) for (const line of linesOfTrace(trace)) drawer.lines.set(line.key, line);
  const isOpened = isOpen && $("drawer").hidden, key = `${about} ${drawer.lines.size} ${log.lines.length > 0}`;
  if (isOpened) drawer.opener = document.activeElement;
  $("drawer").hidden = !isOpen;
  if (!isOpen) {
    if (drawer.key) drawer.opener?.focus({ preventScroll: true });
    drawer.key = drawer.about = "";
  } else if (drawer.key !== key) {
    $("drawer-content").replaceChildren(...drawerContent(one, trace));
    // What is new is read from its heading on; what has only more lines stays where the reader is.
    if (drawer.about !== about) {
      $("drawer").scrollTop = 0;
      $("drawer-title").focus();
    }
    Object.assign(drawer, { key, about });
  }
}

const openLine = line => choose({ request: line.key, trace: "" });
const closeDrawer = () => choose({ request: "", trace: "" });

function drawerContent(one, trace) {
  const lines = [...drawer.lines.values()].filter(line => trace && line.trace === trace);
  const title = element("h2", { id: "drawer-title", tabindex: -1 }, one ? requestOf(one) : chosen.request ? "This request"
    : `Trace ${trace}`);
  if (one) return [title, ...requestContent(one), ...traceContent(trace, lines, one)];
  if (chosen.trace) return [title, ...traceContent(trace, lines)];
  return [title, element("p", {}, log.lines.length
    ? "This process holds no such line any more: look for it where the log is written." : "Reading the lines…")];
}

const heading = text => element("h3", {}, text);

function requestContent(one) {
  const fields = Object.entries(one.fields).filter(([name]) => !SAID.test(name));
  const trouble = troubleOf(one);
  return [
    ...(trouble ? [element("p", { class: `trouble ${one.of("severity")}` }, trouble)] : []),
    factList(factsOf(one)),
    ...timeContent(one),
    ...(fields.length ? [heading("Fields"), factList(fields.map(([name, value]) => [name, textOf(value)]))] : []),
    element("details", {}, element("summary", {}, "The line of the log"), element("pre", {}, one.text)),
  ];
}

function timeContent(one) {
  if (one.seconds === undefined) return [];
  const title = heading("Where the time went"), pieces = piecesOfLine(one);
  if (pieces.length) {
    return [title, element("p", { class: "verdict" }, verdict(pieces, one.seconds, secondsOf(one, "network.round_trip_s"))),
      waterfall(one, pieces)];
  }
  return [title, element("p", { class: "none" }, one.party.side === "served"
    ? "In this app: what it asked others meanwhile is in its trace." : "No phase of this request is known.")];
}

// The error in words.
function troubleOf({ of, party, failure }) {
  const code = of("http.response.status_code"), message = of("error.message");
  const who = party.side === "served" ? "This app" : "The server";
  const what = failure && (failure === code ? `${who} answered ${failureText(code)}.` : `It failed: ${failureText(failure)}${code ? `, after the head of a ${code}` : ""}.`);
  const cancelled = of("outcome") === "cancelled" ? "It was cancelled, which is no error." : "";
  return [what || cancelled, message].filter(Boolean).join(" ");
}

function factsOf(one) {
  const { of, party, fields } = one, isReused = fields["connection.reused"], from = of("client.address") || of("client");
  const day = Number.isFinite(one.start) ? new Date(one.start).toISOString().replace("T", " ").replace("Z", " UTC") : "";
  const size = name => secondsOf(one, name) === undefined ? "" : bytes(fields[name]), again = of("http.request.resend_count");
  return [
    [of("event") === "app" ? "Said" : "Began", day],
      [kindOf(one) === "waits" ? "Waits for" : "Took", one.seconds === undefined ? "" : seconds(one.seconds)],
    ["Status", failureText(statusOf(one))], [party.side === "served" ? "Asked by" : "Made by", from],
    ["Message", requestOf(one) === of("message") ? "" : of("message")],
    ["To", [party.host, of("network.peer.address") && `at ${of("network.peer.address")}`].filter(Boolean).join(" ")],
      ["Path", party.path],
    ["Sent", size("http.request.body.size")], ["Received", size("http.response.body.size")],
    ["First byte", secondsOf(one, "time_to_first_byte_s") === undefined ? "" : `after ${seconds(fields.time_to_first_byte_s)}`],
    ["Connection", [of("network.protocol.version") && `HTTP/${of("network.protocol.version")}`, isReused === undefined ? ""
      : isReused ? "reused" : "new",
      of("network.retransmits") && `${of("network.retransmits")} segments sent again`].filter(Boolean).join(", ")],
    ["Sent again", again && `${again} times, for redirects or credentials`], ["From cache", of("from_cache") && "yes"],
    ["Trace", one.trace], ["Span", of("span_id")],
  ].filter(([, text]) => text);
}

const factList = facts => element("dl", { class: "facts" },
  ...facts.map(([name, text]) => element("div", {}, element("dt", {}, name), element("dd", {}, text))));

// What a row of a waterfall says, its bar from a part of the whole time on, and a text at the end.
function rowOf(name, words, bar, start, part, text) {
  bar.style.left = `${100 * Math.min(1, Math.max(0, start))}%`;
  bar.style.width = `${100 * Math.min(1, part)}%`;
  return [element("span", {}, element("b", {}, name), ` ${words}`),
    element("span", { class: "track", "aria-hidden": "true" }, bar),
    element("span", { class: "number" }, text)];
}

// Each phase behind the one before; the round trip beside `processing`, of which it is a part.
function waterfall(one, pieces) {
  const list = element("ol", { class: "waterfall" }), trip = secondsOf(one, "network.round_trip_s"),
    total = Math.max(one.seconds, 1e-9);
  let start = 0;
  const add = (name, kind, words, time) =>
    list.append(element("li", { class: "step" },
      ...rowOf(name, words, element("span", { class: kind }), start / total, time / total, seconds(time))));
  for (const { name, time } of pieces) {
    add(name, name, PHASES[name][0], time);
    if (name === "processing" && trip !== undefined) add("round trip", "trip", "the network's part of it", trip);
    start += time;
  }
  return list;
}

// The request without what a narrow column has no room for.
const nameOf = line => line.of("http.request.method") ? requestOf(line).replace(/ \w+:\/\/[^/]+/, " ").replace(/\?.*/, "")
  : requestOf(line);

// All of a trace, by when it began: a made request in the colours of its phases, a served one around those that it made.
function traceContent(trace, lines, one) {
  if (!trace) return [];
  const spans = lines.filter(({ start }) => Number.isFinite(start)).sort((a, b) => a.start - b.start || b.end - a.end);
  if (!spans.length) return [heading("Trace"),
    element("p", {}, "This process holds no line of this trace any more: look for it where the log is written.")];
  const first = spans[0].start, total = Math.max(...spans.map(({ end }) => end - first), 1e-3);
  const items = spans.map(line => {
    const bar = element("span", { class: `bar ${line.party.side}` }, ...barOf(piecesOfLine(line), line.seconds));
    const button = element("button", { type: "button", class: `step ${line.of("severity")}`,
      ...(line === one && { "aria-current": "true" }) },
      ...rowOf(`${kindOf(line) || "said"} ${line.of("client")}`.trim(), nameOf(line), bar, (line.start - first) / total,
        (line.end - line.start) / total,
        `${statusOf(line)} ${line.seconds === undefined ? "" : seconds(line.seconds)}`.trim()));
    button.addEventListener("click", () => openLine(line));
    return element("li", {}, button);
  });
  const other = element("button", { type: "button" }, "Its lines in the list");
  other.addEventListener("click", () => { choose({ text: trace, request: "", trace: "" }); $("lines-part").scrollIntoView(); });
  return [heading(`Trace: ${plural(spans.length, "line")}, ${seconds(total / 1000)} in all`),
    element("ol", { class: "waterfall trace" }, ...items), element("p", {}, other)];
}

/// The document of the page at `/`: what is there before the first scrape. `NONCE` stands for the value that
/// lets this page's own style and script run, and nothing else.
enum PageMarkup {
  static let head = #"""
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <link rel="icon" href="data:,">
    <title>SessionTap</title>
    <style nonce="NONCE">
    """#

  static func body(showsLog: Bool) -> String {
    #"""
    </style>
    </head>
    <body data-log="\#(showsLog ? "yes" : "no")">
    <header>
      <h1>SessionTap</h1>
      <form id="filters" aria-label="Filters">
        <label>Client <select id="client"><option value="">all</option></select></label>
        <label>Host <select id="host"><option value="">all</option></select></label>
        <button type="button" id="pause" aria-pressed="false">Pause</button>
      </form>
      <p id="status" role="status">Waiting for the first scrape…</p>
    </header>
    <noscript><p>This page draws <a href="metrics">the metrics</a> with a script, which this browser does not run.</p></noscript>
    <main>
      <section aria-labelledby="totals-title">
        <h2 id="totals-title">Since the start of the process</h2>
        <dl>
          \#(figure("requests", "Requests"))
          \#(figure("errors", "Errors"))
          \#(figure("active", "In flight"))
          \#(figure("p50", "p50"))
          \#(figure("p90", "p90"))
          \#(figure("p99", "p99"))
        </dl>
      </section>
      <section aria-labelledby="charts-title">
        <h2 id="charts-title">The last minutes</h2>
        <div class="charts">
          \#(chart("rate", "Requests per second", now: now("rate-now")))
          \#(chart("share", "Share of errors", now: now("share-now")))
          \#(chart("latency", "Latency, p50, p90 and p99", now: latencyKey))
          \#(chart("heat", "Requests by latency", now: now("heat-now")))
        </div>
        <details id="numbers"><summary>The charts in numbers</summary>
          <div class="charts">
            \#(table("by-time", "By time", ["When", "#Requests/s", "#Errors", "#p50", "#p90", "#p99"]))
            \#(table("by-bucket", "By latency", ["Latency", "#Requests"]))
          </div>
        </details>
      </section>
      <section aria-labelledby="parties-title">
        <h2 id="parties-title">By client and host, in these minutes</h2>
        \#(table("parties", nil, ["Client", "Host", "#Requests/s", "#Errors", "#p50", "#p99", "#In flight"]))
      </section>
      <section aria-labelledby="phases-title" id="phases-part" hidden>
        <h2 id="phases-title">Where the time goes, since the start</h2>
        <p id="phases-none" class="none">No phase of these requests is known. Where <code>session_tap_build_info</code> has
          <code>transfer_account="none"</code>, this app has no account of its transfers.</p>
        <div id="phases-there">
          <figure><figcaption><span>The mean time of a request by phase. Each bar is one whole request.</span> <span class="legend">\#(legend)</span></figcaption>
            <ul id="phases"></ul></figure>
          <details id="phase-numbers"><summary>The phases in numbers</summary>
            <p class="none">Of the requests that had the phase. The p99 is an estimate from the histogram’s buckets.</p>
            \#(table("by-phase", nil, ["Client", "Host", "Phase", "#Requests", "#Mean", "#p99 (estimate)"], title: "phases-title"))
          </details>
        </div>
      </section>
      <section aria-labelledby="slowest-title">
        <h2 id="slowest-title">The slowest, by p99 since the start</h2>
        \#(table("slowest", nil, ["Method", "Template", "Host", "Client", "#Requests", "#Errors", "#Mean", "#p99"]))
      </section>
      \#(showsLog ? log : "")
    </main>
    <footer><a href="metrics">/metrics</a> <a href="healthz">/healthz</a> <a href="readyz">/readyz</a></footer>
    <script nonce="NONCE">
    """#
  }

  static let tail = #"""
    </script>
    </body>
    </html>

    """#

  private static let log = #"""
    <section aria-labelledby="log-title">
        <h2 id="log-title">The last log lines</h2>
        \#(table("log", nil, ["Time", "Severity", "Client", "Request", "#Status", "#Duration"]))
      </section>
    """#

  private static let legend = [
    ("queue", "wait for a connection"), ("resolve", "name look-up"), ("connect", "TCP"), ("tls", "handshake"),
    ("processing", "request out, server works"), ("transfer", "response body"),
    ("unknown", "the rest: redirects, uploads, Foundation’s own time"),
  ].map { #"<span class="phase \#($0)"><b>\#($0)</b> \#($1)</span>"# }.joined(separator: " ")

  private static let latencyKey = ["p50", "p90", "p99"].enumerated().map { index, name in
    #"<span class="key \#(["one", "two", "three"][index])">\#(name) <b id="latency-now-\#(index)">–</b></span>"#
  }.joined(separator: " ")

  private static func now(_ id: String) -> String { #"<b id="\#(id)">–</b>"# }

  private static func figure(_ id: String, _ name: String) -> String {
    #"<div><dt>\#(name)</dt><dd id="\#(id)">–</dd></div>"#
  }

  /// A chart with its scale. The picture says in its label what a sighted reader takes from it at a glance; the tables
  /// below have the rest.
  private static func chart(_ id: String, _ title: String, now: String) -> String {
    let picture =
      id == "heat"
      ? #"<canvas id="heat" role="img" data-label="\#(title)" aria-label="\#(title)"></canvas>"#
      : #"<svg id="\#(id)" role="img" data-label="\#(title)" aria-label="\#(title)" viewBox="0 0 600 140" "#
        + #"preserveAspectRatio="none"></svg>"#
    return #"""
      <figure><figcaption><span>\#(title)</span> <span class="now">\#(now)</span></figcaption>
            <div class="plot"><div class="scale" id="\#(id)-scale" aria-hidden="true"></div>\#(picture)
            <div class="times" aria-hidden="true"><span>1 min ago</span><span>now</span></div></div></figure>
      """#
  }

  /// A table that scrolls sideways, by keyboard too. Columns of numbers are marked by a `#`.
  private static func table(
    _ id: String, _ caption: String?, _ columns: [String], title: String? = nil
  ) -> String {
    let heads = columns.map { column in
      column.hasPrefix("#")
        ? #"<th scope="col" class="number">\#(column.dropFirst())</th>"# : #"<th scope="col">\#(column)</th>"#
    }
    let label = title ?? (caption == nil ? "\(id)-title" : "\(id)-caption")
    return #"""
      <div class="scroll" tabindex="0" role="region" aria-labelledby="\#(label)"><table\#(caption == nil ? " aria-labelledby=\"\(label)\"" : "")>
        \#(caption.map { "<caption id=\"\(label)\">\($0)</caption>" } ?? "")
        <thead><tr>\#(heads.joined())</tr></thead><tbody id="\#(id)"></tbody></table></div>
      """#
  }
}

/// The style of the page at `/`: light and dark by the reader's setting, from a phone's width up.
enum PageStyle {
  static let text = #"""
    :root {
      color-scheme: light dark;
      --back: #f6f6f4; --card: #ffffff; --text: #1c1c1a; --soft: #5c5c57; --line: #dcdcd6;
      --one: #0b63c5; --two: #8a5a00; --three: #b3261e;
      --resolve: #7b2c52; --connect: #dd5a07; --tls: #260905; --processing: #003ace; --transfer: #02a2b8;
    }
    @media (prefers-color-scheme: dark) {
      :root {
        --back: #161615; --card: #20201e; --text: #eeeeea; --soft: #a9a9a2; --line: #3a3a36;
        --one: #7cb8ff; --two: #f0b94d; --three: #ff8f85;
        --resolve: #f26ba4; --connect: #ffd43e; --tls: #9d5e13; --processing: #1c5eff; --transfer: #90f2ff;
      }
    }
    * { box-sizing: border-box; }
    body { margin: 0 auto; max-width: 80rem; padding: 1rem; background: var(--back); color: var(--text);
      font: 1rem/1.45 system-ui, sans-serif; }
    header, form { display: flex; flex-wrap: wrap; gap: .5rem 1.25rem; align-items: center; }
    form { min-width: 0; max-width: 100%; }
    h1 { font-size: 1.25rem; margin: 0; }
    h2 { font-size: 1rem; font-weight: 600; margin: 1.5rem 0 .5rem; }
    label { color: var(--soft); display: flex; gap: .5rem; align-items: center; max-width: 100%; }
    select, button { font: inherit; color: var(--text); background: var(--card); border: 1px solid var(--soft);
      border-radius: .4rem; padding: .3rem .7rem; min-height: 2.5rem; min-width: 0; max-width: 16rem; }
    button { cursor: pointer; }
    button[aria-pressed=true] { background: var(--text); color: var(--back); }
    :focus-visible { outline: 3px solid var(--one); outline-offset: 2px; }
    #status { margin: 0; color: var(--soft); }
    #status.failed { color: var(--three); font-weight: 600; }
    dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(7rem, 1fr)); gap: .75rem; margin: 0; }
    dl div, figure, .scroll, details { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .6rem .8rem; }
    dt { color: var(--soft); font-size: .85rem; }
    dd { margin: 0; font-size: 1.35rem; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
    .charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: .75rem; align-items: start; }
    figure { margin: 0; min-width: 0; }
    figcaption { font-size: .9rem; color: var(--soft); display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1rem; }
    .now { font-variant-numeric: tabular-nums; display: flex; flex-wrap: wrap; gap: 0 1rem; }
    b { color: var(--text); font-weight: 600; }
    .key::before { content: ""; display: inline-block; width: 1.4rem; margin-right: .4rem; vertical-align: middle;
      border-top: 3px solid var(--one); }
    .key.two::before { border-top: 3px dashed var(--two); }
    .key.three::before { border-top: 3px dotted var(--three); }
    .plot { display: grid; grid-template-columns: 3.6rem minmax(0, 1fr); gap: .25rem .5rem; margin-top: .5rem; }
    .scale { display: flex; flex-direction: column; justify-content: space-between; text-align: right; }
    .scale, .times { font-size: .75rem; line-height: 1; color: var(--soft); font-variant-numeric: tabular-nums; white-space: nowrap; }
    .times { grid-column: 2; display: flex; justify-content: space-between; }
    svg, canvas { display: block; width: 100%; height: 8.5rem; border: solid var(--line); border-width: 0 0 1px 1px; }
    svg { background: linear-gradient(var(--line) 1px, transparent 1px) 0 0 / 100% 50%; }
    canvas { color: var(--one); }
    path { fill: none; stroke-width: 2; stroke-linecap: round; stroke-linejoin: round; vector-effect: non-scaling-stroke; stroke: var(--one); }
    path.two { stroke: var(--two); stroke-dasharray: 7 4; }
    path.three { stroke: var(--three); stroke-dasharray: 1 4; stroke-width: 2.5; }
    .queue { --phase: repeating-linear-gradient(45deg, var(--soft) 0 2px, transparent 2px 5px); }
    .resolve { --phase: var(--resolve); }
    .connect { --phase: var(--connect); }
    .tls { --phase: var(--tls); }
    .processing { --phase: var(--processing); }
    .transfer { --phase: var(--transfer); }
    .unknown { --phase: transparent; }
    .legend, .bar + p { display: flex; flex-wrap: wrap; gap: 0 1rem; }
    .phase::before { content: ""; display: inline-block; width: .8rem; height: .8rem; margin-right: .4rem; vertical-align: -.05rem;
      background: var(--phase); border: 1px solid var(--soft); }
    #phases { list-style: none; margin: 0; padding: 0; }
    #phases li { margin-top: .9rem; }
    #phases p { margin: 0; font-size: .85rem; color: var(--soft); font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
    #phases p:first-child { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1rem; font-size: .9rem; }
    .bar { display: flex; gap: 1px; height: 1.1rem; margin: .2rem 0; border: 1px solid var(--soft); }
    .bar span { flex: 0 1 0; min-width: 0; background: var(--phase); }
    .scroll { overflow-x: auto; }
    details { margin-top: .75rem; }
    details .scroll { border: 0; padding: .25rem; }
    summary { cursor: pointer; color: var(--soft); }
    table { width: 100%; border-collapse: collapse; font-size: .9rem; }
    caption { text-align: left; font-weight: 600; padding-bottom: .3rem; }
    th, td { text-align: left; padding: .3rem 1rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
    th:last-child, td:last-child { padding-right: 0; }
    tbody tr:last-child td { border-bottom: 0; }
    td { min-width: 8.5rem; overflow-wrap: anywhere; }
    #slowest td:first-child { min-width: 5rem; }
    #log td:nth-child(4) { min-width: 14rem; }
    #log td:first-child { white-space: nowrap; }
    th { color: var(--soft); font-weight: 500; white-space: nowrap; }
    .number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; min-width: 0; }
    .none { color: var(--soft); }
    tr.WARN td:nth-child(2) { color: var(--two); }
    tr.ERROR td:nth-child(2) { color: var(--three); }
    footer { margin-top: 1.5rem; display: flex; gap: 1rem; }
    a { color: var(--one); }

    """#
}

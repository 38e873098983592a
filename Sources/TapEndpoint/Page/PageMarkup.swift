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

  static func body(showsLog: Bool, showsHistory: Bool) -> String {
    #"""
    </style>
    </head>
    <body data-log="\#(showsLog ? "yes" : "no")" data-history="\#(showsHistory ? "yes" : "no")">
    <header>
      <h1>SessionTap</h1>
      <form id="filters" aria-label="Filters of the requests made">
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
        <div class="sides">\#(sides.map(totals).joined())</div>
        <p class="note"><b>≈</b> \#(estimate);
          <b>&gt;</b> beyond the last bucket.</p>
      </section>
      <section aria-labelledby="charts-title">
        <h2 id="charts-title">The last minutes</h2>
        <div class="sides">\#(sides.map(charts).joined())</div>
        <details id="numbers"><summary>The charts in numbers</summary>
          <div class="sides">\#(sides.map(numbers).joined())</div>
        </details>
      </section>
      <section aria-labelledby="parties-title">
        <h2 id="parties-title">Requests made, by client and host, in these minutes</h2>
        \#(table("parties", nil, ["Client", "Host", "#Requests/s", "#Errors", "#p50", "#p99", "#In flight"]))
      </section>
      <section aria-labelledby="routes-title" data-side="served" hidden>
        <h2 id="routes-title">Requests served, by route, in these minutes</h2>
        \#(table("routes", nil, ["Method", "Route", "#Requests/s", "#Errors (5xx)", "#Mean", "#p99"]))
      </section>
      <section aria-labelledby="phases-title" id="phases-part" hidden>
        <h2 id="phases-title">Where the time goes, since the start</h2>
        <p id="phases-none" class="none">No phase of these requests is known. Where <code>session_tap_build_info</code> has
          <code>transfer_account="none"</code>, this app has no account of its transfers.</p>
        <div id="phases-there">
          <figure><figcaption><span>The mean time of a request by phase. Each bar is one whole request.</span> <span class="legend">\#(legend)</span></figcaption>
            <ul id="phases"></ul></figure>
          <details id="phase-numbers"><summary>The phases in numbers</summary>
            <p class="none">Of the requests that had the phase.</p>
            \#(table("by-phase", nil, ["Client", "Host", "Phase", "#Requests", "#Mean", "#p99"], title: "phases-title"))
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
        \#(table("log", nil, ["Time", "Severity", "Kind", "Client", "Request", "#Status", "#Duration", "Trace"]))
      </section>
      <section id="trace-part" aria-labelledby="trace-title" hidden>
        <div class="row"><h2 id="trace-title" tabindex="-1">The lines of the trace <span id="trace-id"></span></h2>
          <button type="button" id="trace-close">Close</button></div>
        <p class="note"><span id="trace-facts"></span> By when each request began. These are the lines that
          <a href="logs">/logs</a> holds, the newest of this process: older ones are only where the log is written.</p>
        \#(table("trace", nil, ["#Start", "Severity", "Kind", "Request", "#Status", "#Duration", "When"]))
      </section>
    """#

  private static let legend = [
    ("queue", "wait for a connection"), ("resolve", "name look-up"), ("connect", "TCP"), ("tls", "handshake"),
    ("upload", "request body"), ("processing", "request out, server works"), ("transfer", "response body"),
    ("local", "this process"), ("unknown", "the rest: redirects, challenges, waits that nothing tells"),
  ].map { #"<span class="phase \#($0)"><b>\#($0)</b> \#($1)</span>"# }.joined(separator: " ")

  /// The requests that the app makes, and those that it serves, which are hidden where there are none.
  private static let sides = ["made", "served"]

  /// An element for one side, beside that of the other where there is room.
  private static func side(_ name: String, _ content: String) -> String {
    #"<div class="side" data-side="\#(name)"\#(name == "served" ? " hidden" : "")>\#(content)</div>"#
  }

  private static func totals(_ side: String) -> String {
    let figures = [
      ("requests", "Requests \(side)"), ("errors", side == "served" ? "Errors (5xx)" : "Errors"),
      ("active", "In flight"),
      ("p50", "p50"), ("p90", "p90"), ("p99", "p99"),
    ].map { id, name in #"<div><dt\#(hint(name))>\#(name)</dt><dd id="\#(side)-\#(id)">–</dd></div>"# }
    return Self.side(side, "<dl>\(figures.joined())</dl>")
  }

  private static func charts(_ side: String) -> String {
    let key = ["p50", "p90", "p99"].enumerated().map { index, name in
      #"<span class="key \#(["one", "two", "three"][index])">\#(name) <b id="\#(side)-latency-now-\#(index)">–</b></span>"#
    }
    let charts = [
      chart("\(side)-rate", "Requests \(side) per second", now: now("\(side)-rate-now")),
      chart("\(side)-share", "Errors among requests \(side)", now: now("\(side)-share-now")),
      chart("\(side)-latency", "Latency of requests \(side)", now: key.joined(separator: " ")),
      chart("\(side)-heat", "Requests \(side) by latency", now: now("\(side)-heat-now")),
    ]
    return Self.side(side, charts.joined())
  }

  private static func numbers(_ side: String) -> String {
    let columns = ["When", "#Requests/s", "#Errors", "#p50", "#p90", "#p99"]
    return Self.side(
      side,
      table("\(side)-by-time", "Requests \(side), by time", columns)
        + table("\(side)-by-bucket", "Requests \(side), by latency", ["Latency", "#Requests"]))
  }

  private static let estimate =
    "An estimate from the buckets of a histogram, off by the width of one bucket at most"

  /// What a percentile is, for a pointer that rests on its name.
  private static func hint(_ name: some StringProtocol) -> String {
    name.hasPrefix("p") && name.dropFirst().allSatisfy(\.isNumber)
      ? #" title="\#(estimate)""# : ""
  }

  private static func now(_ id: String) -> String { #"<b id="\#(id)">–</b>"# }

  /// A chart with its scale. The picture says in its label what a sighted reader takes from it at a glance; the tables
  /// below have the rest.
  private static func chart(_ id: String, _ title: String, now: String) -> String {
    let picture =
      id.hasSuffix("-heat")
      ? #"<canvas id="\#(id)" role="img" data-label="\#(title)" aria-label="\#(title)"></canvas>"#
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
        ? #"<th scope="col" class="number"\#(hint(column.dropFirst()))>\#(column.dropFirst())</th>"#
        : #"<th scope="col">\#(column)</th>"#
    }
    let label = title ?? (caption == nil ? "\(id)-title" : "\(id)-caption")
    return #"""
      <div class="scroll" tabindex="0" role="region" aria-labelledby="\#(label)"><table\#(caption == nil ? " aria-labelledby=\"\(label)\"" : "")>
        \#(caption.map { "<caption id=\"\(label)\">\($0)</caption>" } ?? "")
        <thead><tr>\#(heads.joined())</tr></thead><tbody id="\#(id)"></tbody></table></div>
      """#
  }
}

extension EndpointRoute {
  /// A page that draws the request metrics live: rate, errors, latency and its heatmap over time, by client and
  /// host, where the time goes, the slowest templates, and the last log lines. It asks for `metrics`, and for `logs`, beside itself, so that it
  /// also works behind a proxy that puts a prefix before all paths.
  ///
  /// The page is one document without any other resource. Its Content-Security-Policy lets nothing run but the
  /// page's own script, and lets that talk to this endpoint alone.
  ///
  /// - Parameters:
  ///   - path: the path of the route.
  ///   - showsLog: whether the endpoint serves `/logs`.
  public static func page(at path: String = "/", showsLog: Bool = false) -> EndpointRoute {
    EndpointRoute(path) { _ in
      let nonce = String(
        decoding: Base64.encoded((0..<16).map { _ in UInt8.random(in: .min ... .max) }), as: UTF8.self)
      return EndpointResponse(
        headers: [
          "Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store",
          "Content-Security-Policy":
            "default-src 'none'; script-src 'nonce-\(nonce)'; style-src 'nonce-\(nonce)'; "
            + "img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
          "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
          "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
          "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
        ], body: .bytes(document(nonce: nonce, showsLog: showsLog)))
    }
  }

  private static func document(nonce: String, showsLog: Bool) -> [UInt8] {
    let markup = [PageMarkup.head, PageStyle.text, PageMarkup.body(showsLog: showsLog)].joined()
    let scripts = [
      PageReading.script, PageHistory.script, PageCharts.script, PageTables.script, PagePhases.script,
      PageLive.script,
    ]
    return Array((markup.replacing("NONCE", with: nonce) + scripts.joined() + PageMarkup.tail).utf8)
  }
}

/// The last part of the page's script: scrapes, and does what its reader chooses.
enum PageLive {
  static let script = #"""
    const INTERVAL = 2000;
    const hasLog = document.body.dataset.log === "yes";

    function options(select, values) {
      const there = new Set([...select.options].map(option => option.value));
      for (const value of [...values].sort()) {
        if (value && !there.has(value) && there.size < 2000) select.append(element("option", { value }, value));
      }
    }

    // Part by part, so that the page can scroll in between. A later drawing replaces one that is not complete.
    let drawing = 0;
    async function draw() {
      if (known.time === undefined) return;
      const client = $("client").value, host = $("host").value, current = ++drawing;
      const choice = { key: JSON.stringify([client, host]),
        has: party => (!client || party.client === client) && (!host || party.host === host) };
      for (const part of [figures, charts, parties, phases, slowest, numbers]) {
        if (current !== drawing) return;
        part(choice);
        await breathe();
      }
    }

    // Screen readers announce it, so it changes only when there is something to announce.
    function say(text, isFailure) {
      if ($("status").textContent !== text) $("status").textContent = text;
      $("status").className = isFailure ? "failed" : "";
    }

    async function scrape() {
      const next = new Scrape();
      await readLines(await get(METRICS, "text/plain;version=0.0.4"), line => next.take(line));
      await breathe();
      learn(next, performance.now());
      await breathe();
      const parties = [...[...known.series.values()].map(one => one.party), ...known.active.values()];
      options($("client"), new Set(parties.map(party => party.client)));
      options($("host"), new Set(parties.map(party => party.host)));
      await draw();
      if (hasLog) await log();
    }

    const isPaused = () => $("pause").getAttribute("aria-pressed") === "true";

    async function live() {
      for (;;) {
        if (!isPaused() && !document.hidden) {
          try {
            await scrape();
            if (!isPaused()) say(`Live, every ${INTERVAL / 1000} s`);
          } catch (error) {
            say(`No scrape: ${error.message}`, true);
          }
        }
        await new Promise(resume => setTimeout(resume, INTERVAL));
      }
    }

    $("filters").addEventListener("change", draw);
    $("filters").addEventListener("submit", event => event.preventDefault());
    $("pause").addEventListener("click", () => {
      $("pause").setAttribute("aria-pressed", String(!isPaused()));
      say(isPaused() ? "Paused" : `Live, every ${INTERVAL / 1000} s`);
    });
    for (const id of ["numbers", "phase-numbers"]) $(id).addEventListener("toggle", draw);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    new ResizeObserver(draw).observe($("heat"));
    live();

    """#
}

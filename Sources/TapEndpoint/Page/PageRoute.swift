extension EndpointRoute {
  /// A page that draws the request metrics live: rate, errors, latency and its heatmap over time, by client and host, and
  /// beside them those of the requests that the app serves, by route; where the time goes, the slowest templates, the last
  /// log lines, and those of one trace together. It asks for `metrics`, and for `logs` and `page/history` where
  /// they are served, beside itself, so that it also works behind a proxy that puts a prefix before all paths.
  ///
  /// The page is one document without any other resource. Its Content-Security-Policy lets nothing run but the
  /// page's own script, and lets that talk to this endpoint alone.
  ///
  /// - Parameters:
  ///   - path: the path of the route.
  ///   - showsLog: whether the endpoint serves `/logs`.
  public static func page(at path: String = "/", showsLog: Bool = false) -> EndpointRoute {
    page(at: path, showsLog: showsLog, showsHistory: false)
  }

  /// - Parameter showsHistory: whether the endpoint serves `page/history` beside the page.
  package static func page(
    at path: String = "/", showsLog: Bool, showsHistory: Bool
  ) -> EndpointRoute {
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
        ], body: .bytes(document(nonce: nonce, showsLog: showsLog, showsHistory: showsHistory)))
    }
  }

  private static func document(nonce: String, showsLog: Bool, showsHistory: Bool) -> [UInt8] {
    let body = PageMarkup.body(showsLog: showsLog, showsHistory: showsHistory)
    let markup = [PageMarkup.head, PageStyle.text, body].joined()
    let scripts = [
      PageReading.script, PageSteps.script, PageBackfill.script, PageNumbers.script, PageCharts.script,
      PageTables.script, PagePhases.script, PageTraces.script, PageLive.script,
    ]
    return Array((markup.replacing("NONCE", with: nonce) + scripts.joined() + PageMarkup.tail).utf8)
  }
}

extension HTTPRoute {
  /// A page that draws the request metrics live, from `/metrics` of the same endpoint: rate, errors, latency and
  /// its heatmap, by client and host, and the last log lines if there are any at `/logs`.
  ///
  /// The page is one document without any other resource. Its Content-Security-Policy lets nothing run but the
  /// page's own script, and lets that talk to this endpoint alone.
  ///
  /// - Parameters:
  ///   - path: where.
  ///   - showsLog: whether the endpoint serves `/logs`.
  public static func page(at path: String = "/", showsLog: Bool = false) -> HTTPRoute {
    HTTPRoute(path) { _ in
      let nonce = String(
        decoding: Base64.encoded((0..<16).map { _ in UInt8.random(in: .min ... .max) }), as: UTF8.self)
      return HTTPResponse(
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
    let body = PageMarkup.body.replacing("NONCE", with: nonce)
    let parts = [
      PageMarkup.head.replacing("NONCE", with: nonce), PageStyle.text,
      showsLog ? body.replacing("id=\"log-section\"", with: "id=\"log-section\" data-on=\"yes\"") : body,
      PageData.script, PageView.script, PageMarkup.tail,
    ]
    return parts.flatMap { Array($0.utf8) }
  }
}

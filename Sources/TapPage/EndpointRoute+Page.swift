import TapCore
package import TapEndpoint

extension EndpointRoute {
  /// The page with its style and its script. It requests `why`, `page/…` and `metrics`, and
  /// `logs` if that is served, by relative paths, so it works behind a proxy that adds a prefix. Its
  /// Content-Security-Policy allows nothing but what this endpoint serves.
  package static func page(showsLog: Bool = false) -> [EndpointRoute] {
    [
      file("/", "text/html") { PageFile.document(showsLog: showsLog) },
      file("/page.css", "text/css") { PageFile.style },
      file("/page.js", "text/javascript") { PageFile.script }, .verdict,
    ]
  }

  /// The first request of a file makes it, which takes milliseconds: not on the queue of all connections.
  private static func file(
    _ path: String, _ type: String, _ file: @escaping @Sendable () -> PageFile
  ) -> EndpointRoute {
    onThreads(path) { request in
      let file = file()
      var response = EndpointResponse.uncached(type + "; charset=utf-8", file.bytes)
      for (name, value) in PageFile.headers { response.headers.add(name, value) }
      if let gzip = file.gzip, Gzip.isPreferred(by: request.headers.combined("Accept-Encoding")) {
        response.headers["Content-Encoding"] = "gzip"
        response.body = gzip
      }
      return response
    }
  }

  package static func waits(_ waits: PageWaits) -> EndpointRoute {
    onThreads("/page/waits") { _ in .uncached("application/json", waits.json()) }
  }

  /// What the page draws. `since` in the query is the slot that it has asked for last.
  package static func history(_ history: PageHistory) -> EndpointRoute {
    onThreads("/page/history") { request in
      let since = request.queryItems.last { $0.name == "since" }.flatMap { Int64($0.value) } ?? 0
      return .uncached("application/json", history.json(since: since))
    }
  }
}

/// A file of the page, as it is and compressed, if the system can.
private struct PageFile: Sendable {
  static let style = PageFile(PageFiles.style)
  static let script = PageFile(PageFiles.script)

  /// Tells the script what the endpoint serves. Small enough to be made for each request.
  static func document(showsLog: Bool) -> PageFile {
    PageFile(
      PageFiles.document
        .replacing(#"data-log="no""#, with: #"data-log="\#(showsLog ? "yes" : "no")""#))
  }

  private static let policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; "
    + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

  static let headers = [
    ("Vary", "Accept-Encoding"), ("Content-Security-Policy", policy), ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"), ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Permissions-Policy", "camera=(), geolocation=(), microphone=()"),
  ]

  let bytes: [UInt8]
  let gzip: [UInt8]?

  init(_ text: String) {
    bytes = Array(text.utf8)
    gzip = Gzip.system?.compress(bytes, level: 9)
  }
}

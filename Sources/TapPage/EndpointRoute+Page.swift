package import TapCore
package import TapEndpoint

extension EndpointRoute {
  /// The page, and what it reads beside `metrics`, and `logs` if that is served: by relative paths, so it
  /// works behind a proxy that adds a prefix. Its Content-Security-Policy allows nothing but what this
  /// endpoint serves.
  ///
  /// - Parameter line: Writes the line of an active request as a JSON object, if the log is served.
  package static func page(
    of recorder: RequestRecorder, line: (@Sendable (RequestSnapshot) -> String)? = nil
  ) -> [EndpointRoute] {
    let (history, waits) = (PageHistory(recorder), PageWaits(recorder, line: line))
    return [
      file("/", "text/html") { PageFile.document(showsLog: line != nil) },
      file("/page.css", "text/css") { PageFile.style },
      file("/page.js", "text/javascript") { PageFile.script },
      why(recorder), .verdict,
      onThreads("/page/waits") { _ in .uncached("application/json", waits.json()) },
      onThreads("/page/history") { request in
        // The slot that the page has asked for last.
        let since = request.queryItems.last { $0.name == "since" }.flatMap { Int64($0.value) } ?? 0
        return .uncached("application/json", history.json(since: since))
      },
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
}

extension EndpointRoute {
  /// What is wrong, a line each, the worst first: as text, or as JSON with `Accept: application/json`. It
  /// tells no more than the metrics, and is served like them.
  ///
  /// `seconds` in the query is the time that counts as now, up to 600.
  static func why(_ recorder: RequestRecorder) -> EndpointRoute {
    let answers = PageAnswers()
    return .onThreads("/why", isPublic: true) { request in
      let text = request.queryItems.last { $0.name == "seconds" }?.value ?? "30"
      guard let seconds = Int(text), (5...600).contains(seconds) else {
        return .refusal(400, "seconds must be a number from 5 to 600")
      }
      let isJSON = prefersJSON(request.headers.combined("Accept"))
      let bytes = answers.bytes(for: "\(seconds) \(isJSON)", at: .now) {
        let diagnosis = Diagnosis(Evidence(recorder, at: .now), span: Double(seconds))
        return isJSON ? "\(diagnosis.json)\n" : diagnosis.text
      }
      var response = EndpointResponse.uncached(
        isJSON ? "application/json" : "text/plain; charset=utf-8", bytes)
      response.headers["Vary"] = "Accept"
      return response
    }
  }

  /// RFC 9110, section 12.5.1. Text unless JSON is named, and has no less weight.
  private static func prefersJSON(_ accept: String?) -> Bool {
    let json = AcceptedItem.weight(of: "application/json", in: accept) ?? 0
    return json > 0 && json >= AcceptedItem.weight(of: "text/plain", in: accept) ?? 0
  }
}

/// A file of the page, as it is and compressed, if the system can.
private struct PageFile: Sendable {
  static let style = PageFile(PageFiles.style)
  static let script = PageFile("\"use strict\";\nconst WORDS = \(Words.json);\n" + PageFiles.script)

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

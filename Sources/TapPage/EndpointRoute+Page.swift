import Dispatch
package import TapCore
public import TapEndpoint

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
    let document = PageDocument(showsLog: showsLog, showsHistory: showsHistory)
    return EndpointRoute(
      path,
      immediate: { _ in
        // CSP Level 3, section 7.1: a nonce is another one in each response, of at least 128 bits.
        let nonce = (0..<2).map { _ in String(UInt64.random(in: .min ... .max), radix: 36) }.joined()
        return EndpointResponse(
          headers: [
            "Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store",
            "Content-Security-Policy":
              "default-src 'none'; script-src 'nonce-\(nonce)'; style-src 'nonce-\(nonce)'; "
              + "img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
            "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
            "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
            "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
          ], body: document.bytes(nonce: nonce))
      })
  }

  /// What the page's charts show before its first scrape.
  ///
  /// - Parameters:
  ///   - history: What is shown.
  ///   - recorder: Delivers the pending requests first.
  package static func history(of history: RequestHistory, recorder: RequestRecorder) -> EndpointRoute {
    // Not on the queue that serves every connection: a full window takes a millisecond to write.
    let queue = DispatchQueue(label: "session-tap.history", qos: .utility)
    return EndpointRoute("/page/history") { _ in
      let bytes = await withCheckedContinuation { continuation in
        queue.async {
          recorder.drain()
          continuation.resume(returning: history.json())
        }
      }
      return EndpointResponse(
        headers: [
          "Content-Type": "application/json", "Cache-Control": "no-store",
          "X-Content-Type-Options": "nosniff",
        ], body: bytes)
    }
  }
}

/// The files of `Web` as one document: `page.html`, with the style and the scripts in place of the elements that name them.
private struct PageDocument {
  /// What stands before, between and after the nonces.
  private var parts: [[UInt8]] = [[]]

  init(showsLog: Bool, showsHistory: Bool) {
    for line in PackageResources.page_html.split(separator: UInt8(ascii: "\n")) {
      // The indentation is for readers of the file.
      let line = String(decoding: line.drop { $0 == UInt8(ascii: " ") }, as: UTF8.self)
      switch line {
      case #"<link rel="stylesheet" href="page.css">"#: embed("style", PackageResources.page_css)
      case #"<script src="data.js"></script>"#: embed("script", PackageResources.data_js)
      case #"<script src="charts.js"></script>"#: embed("script", PackageResources.charts_js)
      case #"<script src="tables.js"></script>"#: embed("script", PackageResources.tables_js)
      case #"<script src="log.js"></script>"#: embed("script", PackageResources.log_js)
      case #"<script src="page.js"></script>"#: embed("script", PackageResources.page_js)
      case #"<body data-log="no" data-history="no">"#:
        let answers = [showsLog, showsHistory].map { $0 ? "yes" : "no" }
        append("<body data-log=\"\(answers[0])\" data-history=\"\(answers[1])\">\n")
      default: append("\(line)\n")
      }
    }
  }

  /// The document of one response.
  func bytes(nonce: String) -> [UInt8] {
    parts.dropFirst().reduce(into: parts[0]) { bytes, part in
      bytes += nonce.utf8
      bytes += part
    }
  }

  private mutating func embed(_ element: String, _ content: [UInt8]) {
    append("<\(element) nonce=\"")
    parts.append(Array("\">\n".utf8) + content + Array("</\(element)>\n".utf8))
  }

  private mutating func append(_ text: String) { parts[parts.count - 1] += text.utf8 }
}

package import TapCore
package import TapEndpoint

extension EndpointRoute {
  /// Makes a route with a page that draws the request metrics live. It shows rate, errors, latency and a
  /// heatmap by client, host and path, and served requests by route; what fails, and where the time goes; and
  /// the searchable lines of the log, with phases, by trace. It requests `metrics`, and `logs` and
  /// `page/history` if they are served, by relative paths, so it works behind a proxy that adds a prefix.
  ///
  /// The page is one document without other resources. Its Content-Security-Policy allows only the page's own
  /// script, which may talk only to this endpoint.
  ///
  /// - Parameters:
  ///   - showsLog: whether the endpoint serves `/logs`.
  ///   - showsHistory: whether the endpoint serves `page/history` beside the page.
  package static func page(showsLog: Bool = false, showsHistory: Bool = false) -> EndpointRoute {
    let document = PageDocument(showsLog: showsLog, showsHistory: showsHistory)
    return .immediate("/") { _ in
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
    }
  }

  /// What the page's charts show before its first scrape. The recorder delivers the pending requests first.
  package static func history(of history: RequestHistory, recorder: RequestRecorder) -> EndpointRoute {
    EndpointRoute("/page/history") { _ in
      recorder.drain()
      return EndpointResponse(
        headers: [
          "Content-Type": "application/json", "Cache-Control": "no-store",
          "X-Content-Type-Options": "nosniff",
        ], body: history.json())
    }
  }
}

/// The files of `Web` as one document: `page.html`, with the style and the scripts in place of the elements that stand for them.
private struct PageDocument {
  /// One script, in this order.
  private static let scripts = [
    PackageResources.state_js, PackageResources.data_js, PackageResources.lines_js,
    PackageResources.charts_js,
    PackageResources.tables_js, PackageResources.phases_js, PackageResources.request_js,
    PackageResources.page_js,
  ]

  /// What stands before, between and after the nonces.
  private var parts: [[UInt8]] = [[]]

  init(showsLog: Bool, showsHistory: Bool) {
    for line in Self.lines(of: PackageResources.page_html) {
      if line == #"<link rel="stylesheet" href="page.css">"# {
        embed("style", Self.lines(of: PackageResources.page_css).map(Self.withoutSpaces))
      } else if line == #"<script src="page.js"></script>"# {
        embed("script", Self.scripts.flatMap(Self.lines))
      } else if line == #"<body data-log="no" data-history="no">"# {
        let answers = [showsLog, showsHistory].map { $0 ? "yes" : "no" }
        append("<body data-log=\"\(answers[0])\" data-history=\"\(answers[1])\">\n")
      } else {
        append("\(line)\n")
      }
    }
  }

  /// The lines of a file, without what is there for its readers alone: indentation, and comments that are a line.
  private static func lines(of file: [UInt8]) -> [String] {
    file.split(separator: UInt8(ascii: "\n"))
      .map { line in String(decoding: line.drop { $0 == UInt8(ascii: " ") }, as: UTF8.self) }
      .filter { line in
        !line.hasPrefix("//") && !(line.hasPrefix("/*") && line.hasSuffix("*/")) && !line.hasPrefix("<!--")
      }
  }

  /// A line of the style, without the spaces that separate nothing. One with a string stays as it is.
  private static func withoutSpaces(_ line: String) -> String {
    if line.contains("\"") { return line }
    return [": ", "; ", ", ", "{ ", " {", " }"].reduce(line) { line, mark in
      line.replacing(mark, with: mark.filter { $0 != " " })
    }
  }

  /// The document of one response.
  func bytes(nonce: String) -> [UInt8] {
    parts.dropFirst().reduce(into: parts[0]) { bytes, part in
      bytes += nonce.utf8
      bytes += part
    }
  }

  private mutating func embed(_ element: String, _ lines: [String]) {
    append("<\(element) nonce=\"")
    parts.append(Array("\">\n\(lines.map { $0 + "\n" }.joined())</\(element)>\n".utf8))
  }

  private mutating func append(_ text: String) { parts[parts.count - 1] += text.utf8 }
}

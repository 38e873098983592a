import Synchronization
import TapCore
import TapEndpoint

/// The files of `Web` as one document: `page.html`, with the style and the scripts in place of the elements that stand for them.
///
/// Made for its first reader: an app whose page is never opened does not pay for it.
final class PageDocument: Sendable {
  /// One script, in this order.
  private static let script = text(
    of: PackageResources.state_js, PackageResources.data_js, PackageResources.lines_js,
    PackageResources.charts_js, PackageResources.tables_js, PackageResources.now_js,
    PackageResources.phases_js, PackageResources.slow_js, PackageResources.request_js,
    PackageResources.page_js)
  private static let style = text(of: PackageResources.page_css)

  static let headers: EndpointHeaders = [
    "Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store", "Vary": "Accept-Encoding",
    // By their hashes, not by a nonce: the same bytes serve all readers (CSP Level 3, section 8.3).
    "Content-Security-Policy": "default-src 'none'; script-src 'sha256-\(SHA256.base64(of: script))'; "
      + "style-src 'sha256-\(SHA256.base64(of: style))'; "
      + "img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
  ]

  private let body: String
  private let made = Mutex<(identity: [UInt8], gzip: [UInt8]?)?>(nil)

  init(showsLog: Bool, showsHistory: Bool) {
    body = "<body data-log=\"\(showsLog ? "yes" : "no")\" data-history=\"\(showsHistory ? "yes" : "no")\">"
  }

  /// The document as it is, and compressed, if the system can.
  var bodies: (identity: [UInt8], gzip: [UInt8]?) {
    made.withLock { made in
      if let made { return made }
      let html = Self.text(of: PackageResources.page_html)
        .replacing(#"<body data-log="no" data-history="no">"#, with: body)
        .replacing(#"<link rel="stylesheet" href="page.css">"#, with: "<style>\(Self.style)</style>")
        .replacing(#"<script src="page.js"></script>"#, with: "<script>\(Self.script)</script>")
      let bytes = Array(html.utf8)
      let bodies = (bytes, Gzip.system?.compress(bytes, level: 9))
      made = bodies
      return bodies
    }
  }

  /// The lines of files, without what is there for their readers alone: indentation, and comments that are a line.
  private static func text(of files: [UInt8]...) -> String {
    files.joined().split(separator: UInt8(ascii: "\n"))
      .map { line in String(decoding: line.drop { $0 == UInt8(ascii: " ") }, as: UTF8.self) }
      .filter { line in
        !line.hasPrefix("//") && !(line.hasPrefix("/*") && line.hasSuffix("*/")) && !line.hasPrefix("<!--")
      }
      .map { $0 + "\n" }.joined()
  }
}

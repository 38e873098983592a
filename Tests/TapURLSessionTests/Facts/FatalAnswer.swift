import TestSupport

/// An answer of a server that ends a process of stock Foundation's, whatever the app does: left out of the matrix, and
/// listed in the article *What the tap sees*.
enum FatalAnswer: String, CaseIterable, Codable {
  /// A trailer is taken for the first line of another head (`byAppendingHTTP` in `TransferState.swift`), and the response
  /// is forgotten: `transferCompleted` in `NativeProtocol.swift`.
  case oneTrailer = "a chunked response with a trailer"
  case twoTrailers = "a chunked response with two trailers"
  /// The same line. Issue 5285 of swift-corelibs-foundation, mended after 6.3.
  case statusLine = "a status line and nothing else"
  /// libcurl tells the length as a `Double`; above 2^63 - 513 it becomes 2^63 and does not fit `Int64`:
  /// `didReceive(headerData:)` in `EasyHandle.swift`.
  case largestLength = "the largest Content-Length"
  case roundedLength = "a Content-Length that is rounded up"
  /// The host goes into `URLComponents` without its brackets, or decoded, and the URL is none: `redirectRequest` in
  /// `HTTPURLProtocol.swift`.
  case addressLocation = "a redirect to an IPv6 address without a scheme"
  case encodedLocation = "a redirect to an encoded host without a scheme"

  /// What the server sends before it closes the connection.
  var steps: [OriginStep] {
    let ok = "HTTP/1.1 200 OK\r\n"
    let chunked = "\(ok)Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n"
    let found = "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: "
    let answer =
      switch self {
      case .oneTrailer: "\(chunked)X-One: 1\r\n\r\n"
      case .twoTrailers: "\(chunked)X-One: 1\r\nX-Two: 2\r\n\r\n"
      case .statusLine: ok
      case .largestLength: "\(ok)Content-Length: \(Int64.max)\r\n\r\nhello"
      case .roundedLength: "\(ok)Content-Length: \(Int64.max - 511)\r\n\r\nhello"
      case .addressLocation: "\(found)//[::1]/\r\n\r\n"
      case .encodedLocation: "\(found)//a%20b/\r\n\r\n"
      }
    return [.text(answer), .close]
  }
}

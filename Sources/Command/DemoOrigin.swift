import Foundation
import SessionTap

/// The server that the demo makes requests to: a small shop with its latencies and its failures.
///
/// A thread for each connection, of which the demo's sessions have some hundred, and blocking sockets.
enum DemoOrigin {
  static let templates: PathTemplates = [
    "/products/{id}", "/search", "/orders", "/reports/{name}", "/recommendations", "/login", "/token",
    "/warehouse", "/legacy",
  ]

  static let monthlyReport = Data(String(repeating: "2026-11,42,1299\n", count: 12_000).utf8)

  /// Listens at a free port of 127.0.0.1, for as long as the process lives.
  static func start() throws -> URL {
    #if canImport(Glibc)
      let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
      let listener = socket(AF_INET, SOCK_STREAM, 0)
    #endif
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        listener >= 0 && bind(listener, address, length) == 0 && listen(listener, 512) == 0
          && getsockname(listener, address, &length) == 0
      }
    }
    guard isListening, let url = URL(string: "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))/")
    else {
      throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
    }
    Thread.detachNewThread {
      while true {
        let connection = accept(listener, nil, nil)
        // Without a descriptor it waits for one.
        guard connection >= 0 else {
          Thread.sleep(forTimeInterval: 0.01)
          continue
        }
        Thread.detachNewThread { serve(connection) }
      }
    }
    return url
  }

  /// Answers the requests of a connection until either side ends it.
  private static func serve(_ connection: Int32) {
    var noDelay: Int32 = 1
    setsockopt(
      connection, Int32(IPPROTO_TCP), TCP_NODELAY, &noDelay, socklen_t(MemoryLayout<Int32>.size))
    defer { close(connection) }
    while let path = nextPath(of: connection) {
      guard let answer = answer(to: path) else {
        // A close that waits for nothing unsent is a reset.
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(
          connection, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
        return
      }
      var rest = answer.bytes[...]
      while !rest.isEmpty {
        // SIGPIPE is ignored.
        let count = rest.withUnsafeBytes { write(connection, $0.baseAddress, $0.count) }
        guard count > 0 else { return }
        rest = rest.dropFirst(count)
      }
      if !answer.keepsConnection { return }
    }
  }

  /// The path of the next request, when it is there with its body; `nil` if the client has ended the
  /// connection. A client waits for the answer before its next request.
  private static func nextPath(of connection: Int32) -> String? {
    var (input, buffer) = (Data(), [UInt8](repeating: 0, count: 16_384))
    while true {
      if let end = input.firstRange(of: Data("\r\n\r\n".utf8)) {
        let head = String(decoding: input[..<end.lowerBound], as: UTF8.self)
        let body = head.firstMatch(of: /(?i)\r\ncontent-length: *(\d{1,6})/).flatMap { Int($0.1) } ?? 0
        let target = head.split(separator: " ").dropFirst().first ?? ""
        if input.count - end.upperBound >= body { return String(target.prefix { $0 != "?" }) }
      }
      let count = read(connection, &buffer, buffer.count)
      guard count > 0 else { return nil }
      input += buffer[..<count]
    }
  }

  private struct Answer {
    var status = "200 OK"
    var fields = "Content-Type: application/json\r\n"
    var body = Data("{}".utf8)
    var keepsConnection = true

    var bytes: Data {
      let end = keepsConnection ? "" : "Connection: close\r\n"
      return Data("HTTP/1.1 \(status)\r\n\(fields)\(end)Content-Length: \(body.count)\r\n\r\n".utf8) + body
    }
  }

  /// `nil` breaks the connection off.
  private static func answer(to path: String) -> Answer? {
    switch path {
    case "/search":
      pause(40...350)
      return Answer(body: Data(#"{"hits":[\#((0..<40).map { "\($0)" }.joined(separator: ","))]}"#.utf8))
    case "/orders":
      pause(20...120)
      return Answer(status: "201 Created")
    case "/reports/monthly.csv":
      pause(25...480)
      return Answer(fields: "Content-Type: text/csv\r\n", body: monthlyReport)
    case "/recommendations":
      pause(5...60)
      return Answer(status: Int.random(in: 0..<4) == 0 ? "503 Service Unavailable" : "200 OK")
    case "/login": return Answer(status: "302 Found", fields: "Location: /search\r\n", body: Data())
    case "/token": return Answer(keepsConnection: false)
    case "/warehouse":
      pause(1_500...4_000)
      return Answer()
    case "/legacy": return nil
    case _ where path.hasPrefix("/products/"):
      pause(2...25)
      return Answer(body: Data(#"{"price":1299}"#.utf8))
    default: return Answer(status: "404 Not Found")
    }
  }

  /// Takes its time, as servers do: mostly the short end of the range.
  private static func pause(_ milliseconds: ClosedRange<Double>) {
    let share = Double.random(in: 0...1)
    let span = milliseconds.upperBound - milliseconds.lowerBound
    Thread.sleep(forTimeInterval: (milliseconds.lowerBound + span * share * share * share) / 1_000)
  }
}

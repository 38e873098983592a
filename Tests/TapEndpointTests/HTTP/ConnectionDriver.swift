import TapEndpoint

/// A connection whose handler answers at once with the request's path, and whose socket takes everything.
struct ConnectionDriver {
  var connection: ConnectionState
  var time = EventTime(instant: .now, date: Array("D".utf8))
  var sent = ""
  /// What has happened: `h0` for the request that is handled first, the statuses of refusals (`!400`) and of
  /// answers (`200`, with the first letter of its Connection field), `shut`, `closed`, `reset`.
  var trace = ""
  private var hasEnded = false
  /// How many bytes the socket takes at once; 0 blocks.
  private var room = Int.max
  var answer: (EndpointRequest) -> EndpointResponse? = { .text($0.path) }

  init(limits: Endpoint.Configuration.Limits = .init()) {
    connection = ConnectionState(limits: limits, at: time)
  }

  private mutating func run() {
    while !hasEnded {
      switch connection.nextAction(at: time) {
      case .handle(let request, let id):
        trace += " h\(id)"
        if let response = answer(request) { connection.answer(response, to: id, at: time) }
      case .refused(let failure): trace += " !\(failure.status)"
      case .write:
        if room == 0 { connection.isWriteBlocked = true } else { write() }
      case .shutdownOutput: trace += " shut"
      case .close(let reset):
        trace += reset ? " reset" : " closed"
        hasEnded = true
      case .wait: return
      }
    }
  }

  private mutating func write() {
    let bytes = connection.output.withNext { Array($0.prefix(room)) }
    if room != .max { room -= bytes.count }
    let text = String(decoding: bytes, as: UTF8.self)
    sent += text
    if text.hasPrefix("HTTP/1.1 ") {
      let field = text.firstRange(of: "\r\nConnection: ").map { text[$0.upperBound...].prefix(1) }
      trace += " \(text.dropFirst(9).prefix(3))\(field ?? "")"
    }
    connection.wrote(bytes.count, at: time)
  }

  mutating func receive(_ text: String) {
    connection.received(Array(text.utf8)[...])
    run()
  }

  mutating func pass(_ duration: Duration) {
    time.instant += duration
    if connection.deadline <= time.instant { connection.deadlinePassed(at: time) }
    run()
  }

  private static let texts = [
    "get": "GET /a HTTP/1.1\r\nHost: h\r\n\r\n", "head": "GET /a HTTP/1.1\r\n", "rest": "Host: h\r\n\r\n",
    "close": "GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "old": "GET /a HTTP/1.0\r\n\r\n",
    "oldkeep": "GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "bad": "nonsense\r\n", "crlf": "\r\n",
  ]

  /// Takes a step: texts that are received together, `x100` for so many bytes; `+1.5`, the seconds that pass;
  /// `room100` of the socket; the answer to a request (`answer0`); `?`, which traces what it is and waits
  /// for.
  mutating func step(_ step: Substring) {
    func number(behind prefix: String) -> Int? {
      step.hasPrefix(prefix) ? Int(step.dropFirst(prefix.count)) : nil
    }
    if let count = number(behind: "x") { return receive(String(repeating: "x", count: count)) }
    if let id = number(behind: "answer") {
      connection.answer(.text("x"), to: UInt64(id), at: time)
    } else if let count = number(behind: "room") {
      (room, connection.isWriteBlocked) = (count, false)
    } else if step.hasPrefix("+"), let seconds = Double(step) {
      trace += " |"
      return pass(.nanoseconds(Int64((seconds * 1e9).rounded())))
    } else {
      switch step {
      case "block": room = 0
      case "open": (room, connection.isWriteBlocked) = (.max, false)
      case "mute": answer = { _ in nil }
      case "reply": answer = { .text($0.path) }
      case "large": answer = { _ in EndpointResponse(body: [UInt8](repeating: 120, count: 200_000)) }
      case "end": connection.inputEnded()
      case "drain": connection.drain()
      case "?":
        let wanted = [(connection.wantsInput, " input"), (connection.wantsOutput, " output")]
        trace += " (\(connection.activity)\(wanted.map { $0.0 ? $0.1 : "" }.joined()))"
      default:
        // The begin of texts that are received at once, and after `&` before the next step.
        let isLast = !step.hasSuffix("&")
        let parts = step.split(separator: "&").map { Self.texts[String($0)] ?? String($0) }
        connection.received(Array(parts.joined().utf8)[...])
        if !isLast { return }
      }
    }
    run()
  }

  /// What comes of the steps.
  static func trace(_ steps: some StringProtocol) -> String {
    var driver = ConnectionDriver()
    for step in Substring(steps).split(separator: " ") { driver.step(step) }
    return String(driver.trace.dropFirst())
  }
}

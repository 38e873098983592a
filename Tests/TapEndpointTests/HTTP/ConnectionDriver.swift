import TapEndpoint

/// A connection whose handler answers at once with the request's path, and whose socket takes everything.
struct ConnectionDriver {
  static let start = ContinuousClock.now
  var connection: ConnectionState
  var time = EventTime(instant: ConnectionDriver.start, date: Array("D".utf8))
  var sent = ""
  var requests: [EndpointRequest] = []
  var ids: [UInt64] = []
  var refused: [Int] = []
  var end: String?
  var isOutputShut = false
  /// How many bytes the socket takes at once; 0 blocks.
  var room = Int.max
  var answer: (EndpointRequest) -> EndpointResponse? = { .text($0.path) }

  init() { connection = ConnectionState(limits: .init(), at: time) }

  mutating func run() {
    while end == nil {
      switch connection.nextAction(at: time) {
      case .handle(let request, let id):
        requests.append(request)
        ids.append(id)
        if let response = answer(request) { connection.answer(response, to: id, at: time) }
      case .refused(let failure): refused.append(failure.status)
      case .write:
        guard room > 0 else {
          connection.isWriteBlocked = true
          continue
        }
        let bytes = connection.output.withNext { Array($0.prefix(room)) }
        if room != .max { room -= bytes.count }
        sent += String(decoding: bytes, as: UTF8.self)
        connection.wrote(bytes.count, at: time)
      case .shutdownOutput: isOutputShut = true
      case .close(let reset): end = reset ? "reset" : "closed"
      case .wait: return
      }
    }
  }

  mutating func receive(_ text: String) {
    connection.received(Array(text.utf8)[...])
    run()
  }

  mutating func finishInput() {
    connection.inputEnded()
    run()
  }

  mutating func pass(_ duration: Duration) {
    time.instant += duration
    if connection.deadline <= time.instant { connection.deadlinePassed(at: time) }
    run()
  }

  mutating func takeSent() -> String {
    defer { sent = "" }
    return sent
  }

  var statuses: [String] {
    sent.split(separator: "HTTP/1.1 ").filter { $0.first?.isNumber ?? false }.map { String($0.prefix(3)) }
  }
}

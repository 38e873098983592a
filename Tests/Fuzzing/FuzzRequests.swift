// A libFuzzer target: any bytes, in any pieces, at one connection. It is compiled together with the sources
// of the parser and the connection by Tests/Scripts/fuzz-requests, which also says how to run it.

/// Stands for the server whose limits these are.
public enum Endpoint {
  /// Stands for its settings.
  public struct Configuration {}
}

private var limits: Endpoint.Configuration.Limits {
  var limits = Endpoint.Configuration.Limits()
  (limits.headBytes, limits.headerCount) = (512, 8)
  return limits
}

/// What an input breaks if this server is wrong. The fuzzer saves the input that ends the process.
private func check(_ condition: Bool, _ message: StaticString) { precondition(condition, "\(message)") }

/// The first byte says in what pieces the rest arrives.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let input = Array(UnsafeBufferPointer(start: start, count: count))
  guard let step = input.first.map({ Int($0 % 17) + 1 }) else { return 0 }
  let bytes = Array(input.dropFirst())
  let (whole, pieces) = (events(of: bytes, step: bytes.count), events(of: bytes, step: step))
  check(whole.elementsEqual(pieces, by: areEqual), "the pieces matter")
  converse(bytes, step: step)
  return 0
}

private func events(of bytes: [UInt8], step: Int) -> [Result<EndpointRequest, RequestParser.Failure>] {
  var parser = RequestParser(limits: limits)
  var events: [Result<EndpointRequest, RequestParser.Failure>] = []
  for start in stride(from: 0, to: bytes.count, by: max(step, 1)) {
    var input = bytes[start..<min(start + max(step, 1), bytes.count)]
    while !input.isEmpty {
      let before = input.count
      if let event = parser.next(from: &input) { events.append(event) }
      check(input.count < before, "the parser makes no progress")
    }
  }
  return events
}

private func areEqual(
  _ one: Result<EndpointRequest, RequestParser.Failure>,
  _ other: Result<EndpointRequest, RequestParser.Failure>
) -> Bool {
  switch (one, other) {
  case (.failure(let one), .failure(let other)): one == other
  case (.success(let one), .success(let other)):
    one.method == other.method && one.path == other.path && one.query == other.query
      && one.authority == other.authority && one.minorVersion == other.minorVersion
      && one.keepsAlive == other.keepsAlive && one.headers.fields.elementsEqual(other.headers.fields, by: ==)
  default: false
  }
}

/// Gives the bytes to a connection, and sees to it that it ends: by an answer, a close, or both.
private func converse(_ bytes: [UInt8], step: Int) {
  var time = EventTime(instant: .now, date: [])
  var connection = ConnectionState(limits: limits, at: time)
  var isClosed = false
  var unanswered: UInt64?

  func run() {
    for _ in 0..<10_000 where !isClosed {
      switch connection.nextAction(at: time) {
      case .handle(let request, let id):
        check(request.headers.fields.count <= 8, "a limit does not hold")
        check(!request.path.utf8.contains(0), "a NUL in a path")
        // Some answers come later, some never.
        if id % 4 == 3 { unanswered = id } else { connection.answer(.text("x"), to: id, at: time) }
      case .refused, .shutdownOutput: break
      case .write:
        let sent = connection.output.withNext { $0.count }
        check(sent > 0, "an empty write")
        connection.wrote(min(sent, 100), at: time)
      case .close: isClosed = true
      case .wait: return
      }
    }
    check(isClosed, "the connection does not come to rest")
  }

  for start in stride(from: 0, to: bytes.count, by: step) where !isClosed {
    if connection.wantsInput { connection.received(bytes[start..<min(start + step, bytes.count)]) }
    run()
    if let id = unanswered, start % 3 == 0 {
      connection.answer(.text("y"), to: id, at: time)
      unanswered = nil
      run()
    }
  }
  if bytes.count % 2 == 0, connection.wantsInput {
    connection.inputEnded()
    run()
  }
  for _ in 0..<8 where !isClosed {
    time.instant = connection.deadline
    connection.deadlinePassed(at: time)
    run()
  }
  check(isClosed, "the connection does not end")
}

import TapLog
import TestSupport

/// Keeps the lines that it is given, fails as it is told, or is stuck until its gate opens.
final class CollectingSink: LogSink {
  struct Refused: Error {}

  private struct State {
    var text = ""
    var isFailing = false
    var hasDurability = true
    var flushes = 0
  }

  /// Opened by the first write, and by the close.
  let entered = Gate(), closed: Gate
  /// What a write waits for.
  let gate = Gate()
  private let state = Mutex(State())

  init(isStuck: Bool = false, closed: Gate = Gate()) {
    self.closed = closed
    if !isStuck { gate.open() }
  }

  var text: String { state.withLock { $0.text } }

  var lines: [String] {
    text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
  }

  var flushes: Int { state.withLock { $0.flushes } }

  var isClosed: Bool { closed.isOpen }

  func fail(_ isFailing: Bool) { state.withLock { $0.isFailing = isFailing } }

  func write(_ lines: UnsafeRawBufferPointer) throws {
    entered.open()
    gate.waitBlocking()
    try state.withLock { state in
      if state.isFailing { throw Refused() }
      state.text += String(decoding: lines, as: UTF8.self)
    }
  }

  /// Whether what it is given becomes durable.
  func makeDurable(_ isDurable: Bool) { state.withLock { $0.hasDurability = isDurable } }

  func flush() throws {
    try state.withLock { state in
      state.flushes += 1
      if !state.hasDurability { throw Refused() }
    }
  }

  func close() { closed.open() }
}

/// The lines that a log writes for these requests.
func lines(
  of observations: RequestObservation..., configuration: RequestLog.Configuration = .init()
) throws -> [String] {
  let (sink, log) = try RequestLog.collecting { $0 = configuration }
  for observation in observations { log.requestEnded(observation) }
  #expect(log.shutdown())
  return sink.lines
}

extension RequestLog {
  /// A folder, and the path of a log in it.
  static func emptyFolder() throws -> (TemporaryFolder, String) {
    let folder = try TemporaryFolder()
    return (folder, folder("requests.jsonl"))
  }

  /// A log into a sink.
  static func collecting(
    isStuck: Bool = false, _ change: (inout Configuration) -> Void = { _ in }
  ) throws -> (CollectingSink, RequestLog) {
    let sink = CollectingSink(isStuck: isStuck)
    return (sink, try RequestLog(to: .custom(sink), configuration: with(.init(), change)))
  }

  /// A line that is written when this returns.
  func write(_ message: String) {
    log(.info, message)
    #expect(flush())
  }
}

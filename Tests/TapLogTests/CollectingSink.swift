import TapLog
import TestSupport

/// Keeps the lines that it is given, or fails as it is told.
final class CollectingSink: LogSink {
  struct Refused: Error {}

  private struct State {
    var text = ""
    var isClosed = false
    var isFailing = false
    var hasDurability = true
    var flushes = 0
  }

  private let state = Mutex(State())

  var lines: [String] {
    state.withLock {
      $0.text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    }
  }

  var flushes: Int { state.withLock { $0.flushes } }

  var isClosed: Bool { state.withLock { $0.isClosed } }

  func fail(_ isFailing: Bool) { state.withLock { $0.isFailing = isFailing } }

  func write(_ lines: UnsafeRawBufferPointer) throws {
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

  func close() { state.withLock { $0.isClosed = true } }
}

extension String {
  /// The message in a line.
  var message: String { String(firstMatch(of: /"message":"([^"]*)"/)?.1 ?? "") }
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
  static func collecting(_ change: (inout Configuration) -> Void = { _ in }) throws -> (
    CollectingSink, RequestLog
  ) {
    let sink = CollectingSink()
    return (sink, try RequestLog(to: .custom(sink), configuration: with(.init(), change)))
  }

  /// A line that is written when this returns.
  func write(_ message: String) {
    log(.info, message)
    #expect(flush())
  }
}

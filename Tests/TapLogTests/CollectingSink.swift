import TapLog
import TestSupport

/// Keeps the lines that it is given, or fails as it is told.
final class CollectingSink: LogSink {
  struct Refused: Error {}

  private struct State {
    var text = ""
    var isClosed = false
    var isFailing = false
  }

  private let state = Mutex(State())

  var lines: [String] {
    state.withLock {
      $0.text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    }
  }

  var isClosed: Bool { state.withLock { $0.isClosed } }

  func fail(_ isFailing: Bool) { state.withLock { $0.isFailing = isFailing } }

  func write(_ lines: UnsafeRawBufferPointer) throws {
    try state.withLock { state in
      if state.isFailing { throw Refused() }
      state.text += String(decoding: lines, as: UTF8.self)
    }
  }

  func close() { state.withLock { $0.isClosed = true } }
}

/// The lines that a log writes for these requests.
func lines(
  of observations: RequestObservation..., configuration: RequestLog.Configuration = .init()
) throws -> [String] {
  let sink = CollectingSink()
  let log = try RequestLog(to: .custom(sink), configuration: configuration)
  for observation in observations { log.requestEnded(observation) }
  #expect(log.shutdown())
  return sink.lines
}

import Foundation
import Synchronization
import TapLog

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

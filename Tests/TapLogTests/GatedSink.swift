import TapLog
import TestSupport

/// Blocks its writer until a gate is open, and may refuse one batch.
final class GatedSink: LogSink {
  let entered = Gate()
  let gate = Gate()
  private let onClose: Gate?
  private let refused: Int?
  private let written = Mutex((batches: 0, text: ""))

  /// - Parameter refused: The number of the batch that is refused, from 1.
  init(onClose: Gate? = nil, refusing refused: Int? = nil) {
    (self.onClose, self.refused) = (onClose, refused)
  }

  var text: String { written.withLock { $0.text } }
  var count: Int { text.count { $0 == "\n" } }

  func write(_ lines: UnsafeRawBufferPointer) throws {
    entered.open()
    gate.waitBlocking()
    try written.withLock { written in
      written.batches += 1
      if written.batches == refused { throw CollectingSink.Refused() }
      written.text += String(decoding: lines, as: UTF8.self)
    }
  }

  func close() { onClose?.open() }
}

import TapLog
import TestSupport

/// Blocks its writer until a gate is open, and may refuse one batch.
final class GatedSink: LogSink {
  let entered = Gate()
  let gate = Gate()
  private let onClose: Gate?
  private let refused: Int?
  private let written = Mutex((batches: 0, lines: 0))

  /// - Parameter refused: The number of the batch that is refused, from 1.
  init(onClose: Gate? = nil, refusing refused: Int? = nil) {
    (self.onClose, self.refused) = (onClose, refused)
  }

  var count: Int { written.withLock { $0.lines } }

  func write(_ lines: UnsafeRawBufferPointer) throws {
    entered.open()
    gate.waitBlocking()
    let count = lines.count { $0 == UInt8(ascii: "\n") }
    try written.withLock { written in
      written.batches += 1
      if written.batches == refused { throw CollectingSink.Refused() }
      written.lines += count
    }
  }

  func close() { onClose?.open() }
}

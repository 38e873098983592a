import TapLog
import TestSupport

/// Blocks its writer until a gate is open.
final class GatedSink: LogSink {
  let entered = Gate()
  let gate = Gate()
  private let onClose: Gate?
  private let lines = Mutex(0)

  init(onClose: Gate? = nil) { self.onClose = onClose }

  var count: Int { lines.withLock { $0 } }

  func write(_ lines: UnsafeRawBufferPointer) {
    entered.open()
    gate.waitBlocking()
    let count = lines.count { $0 == UInt8(ascii: "\n") }
    self.lines.withLock { $0 += count }
  }

  func close() { onClose?.open() }
}

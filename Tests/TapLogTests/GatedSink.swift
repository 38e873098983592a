import TapLog
import TestSupport

/// Blocks its writer until a gate is open.
final class GatedSink: LogSink {
  let entered = Gate()
  let gate = Gate()
  private let onClose: Gate?
  private let written = Mutex("")

  init(onClose: Gate? = nil) { self.onClose = onClose }

  var text: String { written.withLock { $0 } }
  var count: Int { text.count { $0 == "\n" } }

  func write(_ lines: UnsafeRawBufferPointer) {
    entered.open()
    gate.waitBlocking()
    written.withLock { $0 += String(decoding: lines, as: UTF8.self) }
  }

  func close() { onClose?.open() }
}

import Synchronization
import TapCore

/// Counts what fails in a log, and reports each kind of failure on standard error once, and once more when it
/// works again.
final class LogFaults: Sendable {
  enum Kind: Hashable {
    /// The destination takes no lines.
    case lines
    /// The file cannot be moved aside.
    case rotation
    /// Old files cannot be listed or removed.
    case oldFiles
    /// What was written cannot be made durable.
    case synchronization
  }

  private struct State {
    var count: UInt64 = 0
    var lasting: Set<Kind> = []
  }

  private let log: String
  private let isQuiet: Bool
  private let state = Mutex(State())

  /// - Parameter log: What the messages call the log, such as `"requests.jsonl"`.
  init(of log: String, isQuiet: Bool = false) { (self.log, self.isQuiet) = ("the log \(log)", isQuiet) }

  var count: UInt64 { state.withLock { $0.count } }

  func failed(_ kind: Kind, _ reason: String) {
    let isNew = state.withLock { state in
      state.count &+= 1
      return state.lasting.insert(kind).inserted
    }
    guard isNew else { return }
    let remedy = "let this process's user list its directory and write to it"
    let text =
      switch kind {
      case .lines: "\(log) takes no lines: \(reason). Lines that are lost are counted"
      case .rotation: "\(log) cannot be rotated, and grows: \(reason); \(remedy)"
      case .oldFiles: "the old files of \(log) cannot be removed, and grow in number: \(reason); \(remedy)"
      case .synchronization: "\(log) cannot be synchronized: \(reason). A loss of power may take lines"
      }
    say(text)
  }

  func works(_ kind: Kind) {
    guard state.withLock({ $0.lasting.remove(kind) != nil }) else { return }
    let text =
      switch kind {
      case .lines: "\(log) takes lines"
      case .rotation: "\(log) is rotated"
      case .oldFiles: "the old files of \(log) are removed"
      case .synchronization: "\(log) is synchronized"
      }
    say(text + " again")
  }

  func attempt(_ kind: Kind, _ body: () throws -> Void) {
    do {
      try body()
      works(kind)
    } catch {
      failed(kind, "\(error)")
    }
  }

  /// Makes what was written to a file survive a loss of power.
  func synchronize(_ descriptor: Int32) {
    attempt(.synchronization) { try System.synchronize(descriptor) }
  }

  /// Makes the names in a folder survive a loss of power.
  func synchronize(folder: String) {
    attempt(.synchronization) {
      let descriptor = try System.openForReading(folder)
      defer { System.close(descriptor) }
      do throws(System.Failure) {
        try System.synchronize(descriptor)
      } catch {
        // A file system that does so by itself, or cannot (fsync(2)).
        if error != .invalid { throw error }
      }
    }
  }

  private func say(_ text: String) { if !isQuiet { StandardError.write(line: "session-tap: \(text)") } }
}

import TapLibc

/// Standard error, for the few lines that an operator has to see at once.
package enum StandardError {
  /// The bytes that a pipe takes as one piece (POSIX, `PIPE_BUF`).
  private static let limit = 4_096

  /// Writes a line, or drops it: it neither waits for a reader nor lets SIGPIPE end the process.
  package static func write(line: String) {
    let text = line.map { $0.isNewline ? " " : $0 }
    var bytes = Array(String(text).prefix(utf8Length: limit - 1).utf8)
    bytes.append(UInt8(ascii: "\n"))
    guard System.waitUntilWritable(2, milliseconds: 0) else { return }
    withoutBrokenPipeSignal { _ = bytes.withUnsafeBytes { try? System.write($0, to: 2) } }
  }

  /// A write to a pipe without a reader sends SIGPIPE to the thread that writes. It is blocked meanwhile, and
  /// removed if it came.
  private static func withoutBrokenPipeSignal(_ body: () -> Void) {
    var (pipe, before) = (sigset_t(), sigset_t())
    sigemptyset(&pipe)
    sigaddset(&pipe, SIGPIPE)
    let wasPending = isPending
    guard pthread_sigmask(SIG_BLOCK, &pipe, &before) == 0 else { return }
    body()
    if !wasPending, isPending {
      var number: Int32 = 0
      sigwait(&pipe, &number)
    }
    pthread_sigmask(SIG_SETMASK, &before, nil)
  }

  private static var isPending: Bool {
    var pending = sigset_t()
    return sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1
  }
}

/// Admits so many messages in a minute, which begins with the first of them: a flood of faults is no flood of
/// messages.
package struct MinuteLimit: Sendable {
  private let limit: Int
  private var end = Instant(nanoseconds: .min)
  private var admitted = 0
  private var refused = 0

  package init(_ limit: Int) { self.limit = limit }

  /// - Returns: How many were refused since the last one that was admitted; `nil` if this one is refused too.
  package mutating func admit(at now: Instant) -> Int? {
    if now >= end { (end, admitted) = (now.advanced(by: .seconds(60)), 0) }
    guard admitted < limit else {
      refused &+= 1
      return nil
    }
    admitted += 1
    return exchange(&refused, with: 0)
  }
}

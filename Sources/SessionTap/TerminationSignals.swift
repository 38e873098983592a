import Foundation
import Synchronization

/// SIGTERM and SIGINT, from its making on, until one comes or it is released. Else they are what they were before: so a second
/// signal, during a shutdown, ends the process at once.
///
/// By a handler and a pipe: Dispatch's own source wants the signal to be ignored, and misses it where the kernel discards it
/// first, since Dispatch lets the main thread wait with no signal blocked (`_dispatch_sigsuspend`). A thread reads the pipe: a
/// source of Dispatch's never fires where the pipe has the number of a socket that libcurl has just closed, for whose source Dispatch
/// still has an entry (`dispatch_muxnote_s`), and so does not add the number to its epoll set again.
package final class TerminationSignals: Sendable {
  private struct State {
    var listeners: [ObjectIdentifier: AsyncStream<Void>.Continuation] = [:]
    var actionsBefore: [(number: Int32, action: sigaction)] = []
    var isReading = false

    mutating func installHandler() {
      if !isReading {
        signalPipe = pipe.fileHandleForWriting.fileDescriptor
        Thread.detachNewThread { while true { signalCame() } }
        isReading = true
      }
      actionsBefore = [SIGTERM, SIGINT].map { number in
        var before = sigaction()
        sigaction(number, nil, &before)
        signal(number, noteSignal)
        return (number, before)
      }
    }

    mutating func restoreActions() {
      for (number, var action) in actionsBefore { sigaction(number, &action, nil) }
      actionsBefore = []
    }
  }

  /// Of all that listen in this process.
  private static let state = Mutex(State())
  private static let pipe = Pipe()

  private let asked: AsyncStream<Void>

  package init() {
    let (asked, ask) = AsyncStream.makeStream(of: Void.self)
    self.asked = asked
    Self.state.withLock { state in
      if state.listeners.isEmpty { state.installHandler() }
      state.listeners[ObjectIdentifier(self)] = ask
    }
  }

  deinit {
    Self.state.withLock { state in
      let last = state.listeners.removeValue(forKey: ObjectIdentifier(self))
      if last != nil, state.listeners.isEmpty { state.restoreActions() }
    }
  }

  /// Returns when a signal has come, or when the current task is cancelled. To be called once.
  package func wait() async {
    for await _ in asked {}
  }

  private static func signalCame() {
    _ = pipe.fileHandleForReading.availableData
    let listeners = state.withLock { state in
      state.restoreActions()
      defer { state.listeners = [:] }
      return state.listeners.values
    }
    for listener in listeners { listener.finish() }
  }
}

/// Where the handler of signals writes a byte: a plain number, so that the handler makes nothing.
private nonisolated(unsafe) var signalPipe: Int32 = -1

private func noteSignal(_ number: Int32) {
  let before = errno
  _ = write(signalPipe, "!", 1)
  errno = before
}

import Dispatch
import Foundation

/// Ctrl-C and SIGTERM, which are to end the command in order.
final class Termination: Sendable {
  private let asked: AsyncStream<Void>
  private let ask: AsyncStream<Void>.Continuation
  private let queue = DispatchQueue(label: "session-tap.termination")
  // Made once and never touched again; dispatch sources are safe to use from any thread.
  private nonisolated(unsafe) let sources: [any DispatchSourceProtocol]

  /// Listens from now on: make one before anything says that the command runs.
  init() {
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
    asked = stream
    ask = continuation
    sources = [SIGINT, SIGTERM].map { [queue] number in
      signal(number, SIG_IGN)  // the source hears of it all the same
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler { continuation.finish() }
      source.resume()
      return source
    }
  }

  /// Returns when a signal comes, when the time is over, or when the current task is cancelled. To be called
  /// once.
  func wait(atMost duration: Duration?) async {
    let timer = DispatchSource.makeTimerSource(queue: queue)
    timer.setEventHandler { [ask] in ask.finish() }
    timer.schedule(deadline: duration.map { .now() + $0 / .seconds(1) } ?? .distantFuture)
    timer.resume()
    for await _ in asked {}
    timer.cancel()
  }
}

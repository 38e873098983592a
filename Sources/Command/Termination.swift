import Dispatch
import Foundation

/// Waits for Ctrl-C, SIGTERM, or the end of a time.
enum Termination {
  /// Returns when the first of them comes, or when the current task is cancelled.
  static func wait(atMost duration: Duration?) async {
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
    let queue = DispatchQueue(label: "session-tap.termination")
    var sources: [any DispatchSourceProtocol] = []
    for number in [SIGINT, SIGTERM] {
      signal(number, SIG_IGN)  // the source hears of it all the same
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler { continuation.finish() }
      source.resume()
      sources.append(source)
    }
    if let duration {
      let timer = DispatchSource.makeTimerSource(queue: queue)
      timer.schedule(deadline: .now() + duration / .seconds(1))
      timer.setEventHandler { continuation.finish() }
      timer.resume()
      sources.append(timer)
    }
    for await _ in stream {}
    for source in sources { source.cancel() }
  }
}

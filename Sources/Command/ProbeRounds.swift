import Foundation
import SessionTap

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Requests some URLs in rounds.
struct ProbeRounds: Sendable {
  private let session: URLSession
  private let urls: [URL]

  init(tap: Tap, options: Options) {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.timeoutIntervalForRequest = options.timeout / .seconds(1)
    configuration.urlCache = nil
    session = URLSession(configuration: tap.sessionConfiguration(from: configuration, client: "probe"))
    urls = options.urls
  }

  /// Makes rounds until the task is cancelled or there were so many.
  func run(every pause: Duration, count: Int?) async {
    let start = ContinuousClock.now
    var made = 0
    while made < count ?? .max, !Task.isCancelled {
      await withDiscardingTaskGroup { group in
        for url in urls {
          group.addTask {
            await CancellableCall.run { done in session.dataTask(with: url) { _, _, _ in done(()) } }
          }
        }
      }
      made += 1
      if made == count { break }
      // A round that took longer than the pause is followed by the next one at once.
      if (try? await Task.sleep(until: start + pause * made)) == nil { break }
    }
    session.finishTasksAndInvalidate()
  }
}

import Foundation
import SessionTap

extension Options {
  /// Requests the URLs in rounds, until the task is cancelled or there were so many.
  func probe(with tap: Tap) async {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.timeoutIntervalForRequest = timeout / .seconds(1)
    configuration.urlCache = nil
    let session = tap.session(client: "probe", configuration: configuration)
    let start = ContinuousClock.now
    var made = 0
    while made < count ?? .max, !Task.isCancelled {
      await withDiscardingTaskGroup { group in
        for url in urls {
          group.addTask {
            await cancellableCall { done in session.dataTask(with: url) { _, _, _ in done(()) } }
          }
        }
      }
      made += 1
      if made == count { break }
      // A round that took longer than the pause is followed by the next one at once.
      if (try? await Task.sleep(until: start + every * made)) == nil { break }
    }
    session.finishTasksAndInvalidate()
  }
}

import Synchronization
package import TapCore
package import TapFoundation

/// Carries what only `canInit` knows of a request to the ``MetricsURLProtocol``, which Foundation mostly
/// makes on another thread: the trace of the Swift task that resumes it, and, if the app has classes of its
/// own, which class loads it. Most requests have neither, and carry nothing: to read such a request twice
/// takes less than to carry what was read.
///
/// Foundation calls `canInit` within `resume()`, on the task's own queue (`URLSessionTask._getProtocol`). The
/// protocol finds the answer by that queue, whatever other tasks are made from the same request. An answer to
/// an app's own chain of protocols, which asks elsewhere, stays under another queue, or is replaced by
/// Foundation's next question.
package final class CarriedRequests: Sendable {
  /// What is known of a request that was accepted. An object, because most requests have none.
  package final class Carried: Sendable {
    package let trace: TraceContext?
    let loader: URLProtocol.Type
    /// The context that accepted it.
    let context: ObjectIdentifier

    package init(trace: TraceContext?, loader: URLProtocol.Type, context: AnyObject) {
      (self.trace, self.loader) = (trace, loader)
      self.context = ObjectIdentifier(context)
    }
  }

  /// Two generations: entries that are never taken go with the older one.
  private struct Table {
    var newer: [TaskQueue: Carried] = [:]
    var older: [TaskQueue: Carried] = [:]

    mutating func take(from queue: TaskQueue) -> Carried? {
      let newer = newer.removeValue(forKey: queue)
      let older = older.isEmpty ? nil : older.removeValue(forKey: queue)
      return newer ?? older
    }
  }

  package static let shared = CarriedRequests(limit: 16_384)

  private let limit: Int
  private let table = Mutex(Table())
  private let isEmpty = Atomic(true)

  /// - Parameter limit: The most entries of a generation.
  package init(limit: Int) { self.limit = limit }

  /// Notes that the request of the current queue was accepted.
  package func add(_ carried: Carried) {
    guard let queue = TaskQueue.current else { return }
    let forgotten = table.withLock { table -> [TaskQueue: Carried]? in
      table.newer[queue] = carried
      isEmpty.store(false, ordering: .releasing)
      guard table.newer.count >= limit else { return nil }
      defer { table = Table(older: table.newer) }
      return table.older
    }
    // Freed outside the lock.
    _ = forgotten
  }

  /// Takes what was last carried from the queue.
  package func take(from queue: @autoclosure () -> TaskQueue?) -> Carried? {
    guard !isEmpty.load(ordering: .acquiring), let queue = queue() else { return nil }
    return table.withLock { table in
      defer { isEmpty.store(table.newer.isEmpty && table.older.isEmpty, ordering: .releasing) }
      return table.take(from: queue)
    }
  }

  var count: Int { table.withLock { $0.newer.count + $0.older.count } }
}

import Synchronization
package import TapCore
package import TapFoundation

/// Carries what `canInit` knows of a request to the loader, which Foundation mostly makes on another thread:
/// the trace of the Swift task that resumes it, what has been read of it, and who loads it.
///
/// Foundation calls `canInit` within `resume()`, on the task's own queue (`URLSessionTask._getProtocol`). The
/// loader finds the answer by that queue, whatever other tasks are made from the same request. An answer to
/// an app's own chain of protocols, which asks elsewhere, stays under another queue, or is replaced by
/// Foundation's next question.
package final class CarriedRequests: Sendable {
  /// What is known of a request that was accepted.
  package final class Carried: Sendable {
    let text: RequestText
    package let trace: TraceContext?
    let loader: URLProtocol.Type
    /// The context that accepted it.
    let context: ObjectIdentifier

    package init(text: RequestText, trace: TraceContext?, loader: URLProtocol.Type, context: AnyObject) {
      (self.text, self.trace, self.loader) = (text, trace, loader)
      self.context = ObjectIdentifier(context)
    }
  }

  /// Two generations: entries that are never taken go with the older one.
  private struct Table {
    var newer: [TaskQueue: Carried] = [:]
    var older: [TaskQueue: Carried] = [:]
  }

  package static let shared = CarriedRequests(limit: 16_384)

  private let limit: Int
  private let table = Mutex(Table())

  /// - Parameter limit: The most entries of a generation.
  package init(limit: Int) { self.limit = limit }

  /// Notes that the request of the current queue was accepted.
  package func add(_ carried: Carried) {
    guard let queue = TaskQueue.current else { return }
    let forgotten = table.withLock { table -> [TaskQueue: Carried]? in
      table.newer[queue] = carried
      guard table.newer.count >= limit else { return nil }
      defer { table = Table(older: table.newer) }
      return table.older
    }
    // Freed outside the lock.
    _ = forgotten
  }

  /// Takes what was last carried from the queue.
  package func take(from queue: TaskQueue?) -> Carried? {
    guard let queue else { return nil }
    return table.withLock { table in
      let newer = table.newer.removeValue(forKey: queue)
      let older = table.older.isEmpty ? nil : table.older.removeValue(forKey: queue)
      return newer ?? older
    }
  }

  var count: Int { table.withLock { $0.newer.count + $0.older.count } }
}

/// The request of a task, with what is read of it.
package struct TaskRequest: Sendable {
  let request: URLRequest
  let text: RequestText

  /// - Parameter text: If it was read before.
  package init(_ request: URLRequest, _ text: RequestText? = nil) {
    self.request = request
    self.text = text ?? RequestText(request)
  }
}

/// What is read of a task's request, once, because each of Foundation's getters makes a copy.
package final class RequestText: Sendable {
  let url: String
  let method: String
  let server: URLAuthority?

  package init(_ request: URLRequest) {
    url = request.url?.absoluteString ?? ""
    method = request.httpMethod ?? "GET"
    server = URLAuthority(url)
  }
}

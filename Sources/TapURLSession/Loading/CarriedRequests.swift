import Synchronization
package import TapCore
package import TapFoundation

/// Carries what `canInit` knows of a request to the loader, which Foundation mostly makes on another thread:
/// the trace of the Swift task that resumes it, what has been read of it, and who loads it.
///
/// Foundation asks within `resume()`, on the task's own queue (`URLSessionTask._getProtocol`): by that queue
/// the loader finds the answer, whatever other tasks are made of the same request. What an app's own chain of
/// protocols asks elsewhere stays behind under another queue, or is replaced by Foundation's next question.
package final class CarriedRequests: Sendable {
  /// What is known of a request that was accepted.
  package struct Carried: Sendable {
    let text: RequestText
    package let trace: TraceContext?
    let loader: URLProtocol.Type
    /// Which of them accepted it.
    let context: ObjectIdentifier

    package init(text: RequestText, trace: TraceContext?, loader: URLProtocol.Type, context: AnyObject) {
      (self.text, self.trace, self.loader) = (text, trace, loader)
      self.context = ObjectIdentifier(context)
    }
  }

  /// Two generations: what is never taken goes with the older one, whose room is needed.
  private struct Table {
    var newer: [TaskQueue: Carried] = [:]
    var older: [TaskQueue: Carried] = [:]
  }

  package static let shared = CarriedRequests(limit: 16_384)

  private let limit: Int
  private let table = Mutex(Table())

  /// - Parameter limit: The most questions of a generation.
  package init(limit: Int) { self.limit = limit }

  /// The request that is asked about on the current queue was accepted.
  package func add(_ carried: Carried) {
    guard let queue = TaskQueue.current else { return }
    let forgotten = table.withLock { table -> [TaskQueue: Carried]? in
      table.newer[queue] = carried
      guard table.newer.count >= limit else { return nil }
      defer { table = Table(older: table.newer) }
      return table.older
    }
    // Freed here, outside the lock.
    _ = forgotten
  }

  /// What was last carried from the queue, once.
  package func take(from queue: TaskQueue?) -> Carried? {
    guard let queue else { return nil }
    return table.withLock { table in
      let newer = table.newer.removeValue(forKey: queue)
      let older = table.older.isEmpty ? nil : table.older.removeValue(forKey: queue)
      return newer ?? older
    }
  }

  /// How many questions are kept.
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

/// What is read of a task's request: once, since each of Foundation's getters makes a copy. A class, because
/// it is passed on.
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

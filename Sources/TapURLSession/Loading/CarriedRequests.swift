import Synchronization
package import TapCore
package import TapFoundation

/// Carries what `canInit` knows of a request to the loader, which Foundation mostly makes on another thread:
/// the trace of the Swift task that resumes it, and what has been read of it, so that it is read once.
///
/// `canInit` and the loader share only the URLRequest's storage, as do all tasks made from one value: the
/// trace is carried while all expected loaders of that storage come from one trace. Foundation makes one
/// loader for each `canInit` that takes a request (`URLSessionTask._getProtocol`).
package final class CarriedRequests: Sendable {
  /// What has been asked for and has no loader yet, of one reference.
  private struct Pending {
    /// Keeps the reference: another request at its address is not this one.
    let asked: TaskRequest
    let parent: TraceContext?
    var count = 0
    /// Not all come from one place.
    var isAmbiguous = false

    mutating func add(_ parent: TraceContext?) {
      count += 1
      if parent != self.parent { isAmbiguous = true }
    }
  }

  private struct Table {
    var pending: [UInt: Pending] = [:]
    /// Loaders are not made as they are asked for, so nothing is carried any more.
    var isGivenUp = false
  }

  package static let shared = CarriedRequests(limit: 16_384)

  private let limit: Int
  private let table = Mutex(Table())

  /// - Parameter limit: The most references that are kept.
  package init(limit: Int) { self.limit = limit }

  /// A loader of the request will be made, for a task that was resumed within this trace, or within none.
  package func add(_ asked: TaskRequest, in parent: TraceContext?) {
    guard let reference = asked.request.reference else { return }
    let dropped = table.withLock { table -> [UInt: Pending] in
      if table.isGivenUp { return [:] }
      if table.pending.count >= limit, table.pending[reference] == nil {
        return exchange(&table, with: Table(isGivenUp: true)).pending
      }
      table.pending[reference, default: Pending(asked: asked, parent: parent)].add(parent)
      return [:]
    }
    // They are freed here, outside the lock: a body stream of the app's may be among them.
    guard !dropped.isEmpty else { return }
    StandardError.write(
      line: "session-tap: warning: requests have no trace but their own any more: "
        + "\(dropped.count) times canInit took a request whose loader was not made")
  }

  /// How many references are kept.
  var pendingCount: Int { table.withLock { $0.pending.count } }

  /// The loader of the request is made.
  ///
  /// - Returns: The request, and the trace within which its task was resumed: `nil` if there was none, or it
  ///   is not known which.
  package func take(_ request: URLRequest) -> (asked: TaskRequest, parent: TraceContext?) {
    let pending = request.reference.flatMap { reference in
      table.withLock { table -> Pending? in
        guard var pending = table.pending.removeValue(forKey: reference) else { return nil }
        pending.count -= 1
        if pending.count > 0 { table.pending[reference] = pending }
        return pending
      }
    }
    guard let pending else { return (TaskRequest(request), nil) }
    return (pending.asked, pending.isAmbiguous ? nil : pending.parent)
  }
}

/// The request of a task, and what is read of it: once, since each of Foundation's getters makes a copy. A
/// class, because it is passed on.
package final class TaskRequest: Sendable {
  let request: URLRequest
  let url: String
  let method: String
  let server: URLAuthority?

  package init(_ request: URLRequest) {
    self.request = request
    url = request.url?.absoluteString ?? ""
    method = request.httpMethod ?? "GET"
    server = URLAuthority(url)
  }
}

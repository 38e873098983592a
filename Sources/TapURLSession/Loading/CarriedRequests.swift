import Synchronization
package import TapCore
package import TapFoundation

#if canImport(CDispatch)
  import CDispatch
#endif

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

/// The identity of a queue: libdispatch keeps a copy of the label for each queue, whose address is compared
/// and never followed.
package struct TaskQueue: Hashable, Sendable {
  private let label: UInt

  #if canImport(CDispatch)
    private init?(_ queue: dispatch_queue_t?) {
      guard let label = UnsafePointer<CChar>?(dispatch_queue_get_label(queue)) else { return nil }
      self.label = UInt(bitPattern: label)
    }

    /// The queue on which the caller runs.
    package static var current: TaskQueue? { TaskQueue(nil) }

    /// The queue of a task. `nil` where Foundation's tasks are not as expected.
    package init?(of task: URLSessionTask) {
      guard let offsets = Self.offsets else { return nil }
      let queue = load(offsets.queue, of: task, as: AnyObject.self)
      self.init(load(offsets.wrapped, of: queue, as: dispatch_queue_t?.self))
    }

    /// The offset of a task's queue, and that of libdispatch's queue in a `DispatchQueue`. `nil` unless
    /// reflection finds the same values there.
    private static let offsets: (queue: Int, wrapped: Int)? = {
      guard let ofTask = StoredProperty("workQueue", of: URLSessionTask.self, type: "Dispatch.DispatchQueue"),
        let ofQueue = StoredProperty("__wrapped", of: DispatchQueue.self, type: "Swift.OpaquePointer")
      else { return nil }
      // A task of no session.
      let task = URLSessionTask()
      guard let queue = StoredProperty.value("workQueue", of: task) as? DispatchQueue,
        load(ofTask.offset, of: task, as: UInt.self) == UInt(bitPattern: ObjectIdentifier(queue)),
        load(ofQueue.offset, of: queue, as: dispatch_queue_t?.self)
          == StoredProperty.value("__wrapped", of: queue) as? dispatch_queue_t
      else { return nil }
      return (ofTask.offset, ofQueue.offset)
    }()
  #else
    package static var current: TaskQueue? { nil }
    package init?(of task: URLSessionTask) { nil }
  #endif
}

package import TapFoundation

#if canImport(CDispatch)
  import CDispatch
#endif

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

/// A ``BatchQueue`` of objects, for other modules: there the compiler does not specialise a generic class, and to add an
/// element takes a microsecond more.
package final class ObjectQueue: FlushedAtExit {
  package typealias Element = AnyObject & Sendable

  private let queue: BatchQueue<any Element>

  /// As ``BatchQueue/init(hurryLimit:helpLimit:delay:rest:deliver:)``.
  package init(
    hurryLimit: Int, helpLimit: Int, deliver: @escaping @Sendable ([any Element]) -> Void
  ) {
    queue = BatchQueue(hurryLimit: hurryLimit, helpLimit: helpLimit, deliver: deliver)
  }

  /// Notes an object.
  package func add(_ object: any Element) { queue.add(object) }

  /// Hands on all that was noted before. Does nothing when called by an observer.
  package func flush() { queue.flush() }

  package func flushAtExit(within limit: Duration) { queue.flushAtExit(within: limit) }
}

import Synchronization

/// An object that delivers its remaining elements at a normal exit of the process.
package protocol FlushedAtExit: AnyObject, Sendable {
  /// Delivers everything, or as much as it can within the limit.
  func flushAtExit(within limit: Duration)
}

/// Flushes objects at a normal exit of the process, in the reverse of the order in which they were added: a
/// later one delivers to an earlier one.
///
/// A forked child inherits copies of the objects, but none of their threads. It flushes only what it has
/// added itself: the parent delivers the rest.
package enum ExitFlush {
  private struct Reference: Sendable {
    weak var object: (any FlushedAtExit)?
    let process = System.processID
  }

  private static let references = Mutex<[Reference]>([])
  private static let registration: Void = System.atExit { ExitFlush.flush() }
  private static let laterRegistration: Void = System.atExit { ExitFlush.flush() }
  /// How long all of them together may take, from the first flush on.
  private static let limit = Duration.seconds(1)
  private static let start = Instant.now

  /// Adds an object. The reference is weak.
  package static func add(_ object: any FlushedAtExit) {
    _ = registration
    references.withLock { references in
      references.removeAll { $0.object == nil }
      references.append(Reference(object: object))
    }
  }

  /// Registers a second flush, which exit(3) calls before the functions that others registered since the
  /// first. The first then delivers what came in between.
  package static func precedeEarlierFunctions() { _ = laterRegistration }

  private static func flush() {
    let process = System.processID
    for reference in references.withLock({ $0 }).reversed() where reference.process == process {
      reference.object?.flushAtExit(within: max(.zero, limit - start.duration(to: .now)))
    }
  }
}

import Dispatch
import Foundation
import Synchronization
import TapCore

/// Tells observers of requests, a batch at a time, away from the path of the requests.
///
/// All sessions of a process share one queue of Foundation's, and every microsecond there is one that each of
/// them waits. To note an event costs a tenth of what the observers' own code costs when it finds the
/// processor's caches cold; in a batch they are warm. Events reach the observers in their order, after at most
/// ``delay``, when ``batch`` of them wait, or at a ``flush()``. When ``capacity`` events wait, whoever adds one
/// hands them on itself: nothing is dropped, and memory is bounded.
///
/// The delay is as long as a reader of the log may wait. Each batch wakes two threads, which on two cores push the
/// requests' own threads about: a request costs half a percent more with 25 ms than with 100, and with 2 ms three percent.
final class ObserverQueue: FlushedAtExit {
  /// What observers hear of a request.
  enum Event: Sendable {
    case start
    case waits(Duration)
    case end
  }

  private struct Entry: Sendable {
    let request: TappedRequest
    let event: Event
  }

  private static let delay = DispatchTimeInterval.milliseconds(100)
  private static let batch = 512
  private static let capacity = 2_048

  private let pending = Mutex<[Entry]>([])
  /// Held while events are handed on, so that batches do not overtake each other.
  private let turn = Mutex<Void>(())
  /// The thread that hands on: an observer that asks for a flush, by a scrape of its own say, must not wait for
  /// itself.
  private let busyThread = Atomic<UInt>(0)
  private let queue = DispatchQueue(label: "session-tap.observers", qos: .utility)

  /// Notes an event.
  func add(_ event: Event, of request: TappedRequest) {
    let count = pending.withLock { pending in
      pending.append(Entry(request: request, event: event))
      return pending.count
    }
    if count == 1 {
      queue.asyncAfter(deadline: .now() + Self.delay) { [self] in flush() }
    } else if count == Self.batch {
      queue.async { [self] in flush() }
    } else if count >= Self.capacity {
      flush()
    }
  }

  /// Hands on all events that were noted before. Does nothing when called by an observer.
  func flush() {
    let thread = UInt(bitPattern: ObjectIdentifier(Thread.current))
    guard busyThread.load(ordering: .relaxed) != thread else { return }
    turn.withLock { _ in
      busyThread.store(thread, ordering: .relaxed)
      defer { busyThread.store(0, ordering: .relaxed) }
      var entries = pending.withLock { pending in
        defer { pending = [] }
        return pending
      }
      // From the end of the array, so that a request goes while it is still in the caches.
      entries.reverse()
      while let entry = entries.popLast() { entry.request.tell(entry.event) }
    }
  }

  func flushAtExit(within limit: Duration) {
    // Elsewhere: an observer may take its time, and an exit must not.
    let done = DispatchSemaphore(value: 0)
    queue.async { [self] in
      flush()
      done.signal()
    }
    _ = done.wait(timeout: .now() + limit / .seconds(1))
  }
}

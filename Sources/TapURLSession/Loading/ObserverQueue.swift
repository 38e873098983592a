import Dispatch
import Foundation
import Synchronization
import TapCore

/// Has observers told of requests, a batch at a time, away from the path of the requests.
///
/// All sessions of a process share one queue of Foundation's, and every microsecond there is one that each of
/// them waits. To note a request costs a tenth of what the observers' own code costs when the processor has to fetch that
/// code. A batch is told of in groups, one observer after another: the code of all observers together is about as
/// large as the cache for instructions of a usual core, that of one is smaller.
///
/// A request waits here once for all that there is to tell of it, for at most ``delay``, until ``batch`` of them wait, or
/// for a ``flush()``. When ``capacity`` wait, whoever adds one hands them on itself: nothing is dropped, and memory is
/// bounded.
///
/// The delay is as long as a reader of the log may wait. Each batch wakes two threads, which on two cores push the
/// requests' own threads about: a request costs half a percent more with 25 ms than with 100, and with 2 ms three percent.
final class ObserverQueue: FlushedAtExit {
  private static let delay = DispatchTimeInterval.milliseconds(100)
  private static let batch = 256
  private static let capacity = 1_024
  /// As many as the cache for data holds.
  private static let group = 32

  private let pending = Mutex<[TappedRequest]>([])
  /// The requests of which observers are being told. Held meanwhile, so that batches do not overtake each other; the
  /// memory of an empty one serves the requests that come.
  private let turn = Mutex<[TappedRequest]>([])
  /// The thread that hands on: an observer that asks for a flush, by a scrape of its own say, must not wait for
  /// itself.
  private let busyThread = Atomic<UInt>(0)
  private let queue = DispatchQueue(label: "session-tap.observers", qos: .utility)

  /// Notes a request of which there is something to tell.
  func add(_ request: TappedRequest) {
    let count = pending.withLock { pending in
      pending.append(request)
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

  /// Hands on all that was noted before. Does nothing when called by an observer.
  func flush() {
    let thread = UInt(bitPattern: ObjectIdentifier(Thread.current))
    guard busyThread.load(ordering: .relaxed) != thread else { return }
    turn.withLock { requests in
      busyThread.store(thread, ordering: .relaxed)
      defer { busyThread.store(0, ordering: .relaxed) }
      pending.withLock { swap(&$0, &requests) }
      // From the end of the array, so that a group goes while it is still in the caches.
      requests.reverse()
      while !requests.isEmpty {
        var group: [TappedRequest] = []
        group.reserveCapacity(Self.group)
        while group.count < Self.group, let request = requests.popLast() { group.append(request) }
        TappedRequest.tell(group)
      }
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

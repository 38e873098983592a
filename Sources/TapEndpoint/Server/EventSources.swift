import Dispatch
import TapCore

/// Runs an actor on a serial dispatch queue, so that the handlers of dispatch sources, which run on the same
/// queue, are isolated to the actor. (`DispatchSerialQueue`, which is such an executor, is not on Linux.)
final class QueueExecutor: SerialExecutor {
  let queue: DispatchQueue

  init(label: String) {
    queue = DispatchQueue(label: label, qos: .userInitiated)
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }

  func checkIsolated() {
    dispatchPrecondition(condition: .onQueue(queue))
  }
}

/// A listening socket with its dispatch source. Only the event loop uses it.
final class Listener {
  let socket: ListeningSocket
  private let source: any DispatchSourceRead
  private var isPaused = false

  /// Takes ownership of the socket. The callback runs on the queue.
  init(_ socket: ListeningSocket, queue: DispatchQueue, onReadable: @escaping () -> Void) {
    self.socket = socket
    source = DispatchSource.makeReadSource(fileDescriptor: socket.descriptor, queue: queue)
    source.setEventHandler(handler: onReadable)
    source.activate()
  }

  /// Leaves new connections in the system's queue, because there is no descriptor for them.
  func pause() {
    guard !isPaused else { return }
    isPaused = true
    source.suspend()
  }

  func resume() {
    guard isPaused else { return }
    isPaused = false
    source.resume()
  }

  func close(then completion: @escaping () -> Void) {
    let socket = socket
    source.setCancelHandler {
      socket.close()
      completion()
    }
    source.cancel()
    resume()
  }
}

/// One timer for the deadlines of all connections. Most deadlines are moved before they pass, so it is not
/// set again with each of them: it fires at the earliest that it was given, and is then given the next.
final class DeadlineTimer {
  /// A deadline is noticed at most this much late. It bounds how often all connections are visited.
  private static let granularity = Duration.milliseconds(20)

  private let source: any DispatchSourceTimer
  private var scheduled: ContinuousClock.Instant?

  /// The callback runs on the queue, and schedules the next deadline.
  init(queue: DispatchQueue, onDeadline: @escaping () -> Void) {
    source = DispatchSource.makeTimerSource(queue: queue)
    source.setEventHandler { [weak self] in
      self?.scheduled = nil
      onDeadline()
    }
    source.activate()
  }

  deinit {
    source.cancel()
  }

  /// Fires at the deadline, or somewhat later, unless it fires earlier anyway.
  func schedule(_ deadline: ContinuousClock.Instant) {
    if let scheduled, scheduled <= deadline { return }
    scheduled = deadline
    let delay = max(ContinuousClock.now.duration(to: deadline), .zero) + Self.granularity
    source.schedule(
      deadline: .now() + .nanoseconds(Int(clamping: delay.nanoseconds)), leeway: .milliseconds(5))
  }
}

/// Reads the clocks for the connections. The date is encoded again only when its second has changed.
struct EventClock {
  private var second: Int64 = .min
  private var date: [UInt8] = []

  mutating func now() -> EventTime {
    let current = Timestamp.now.nanosecondsSinceEpoch / 1_000_000_000
    if current != second {
      second = current
      date = HTTPDate.bytes(secondsSinceEpoch: current)
    }
    return EventTime(instant: .now, date: date)
  }
}

import Synchronization

package protocol QueueBuffer {
  init()
  var isEmpty: Bool { get }
}

extension Array: QueueBuffer {
  /// Appends an element unless there are `limit`. The worker is woken when there are `many`.
  mutating func append(_ element: Element, limit: Int, many: Int) -> QueueFill {
    if count >= limit { return .full }
    append(element)
    return count == 1 ? .first : count == many ? .many : .some
  }
}

package enum QueueFill {
  /// The first element that waits: the worker comes at the next tick.
  case first
  case some
  /// The element with which many wait: the worker comes at once.
  case many
  /// Not appended, since the limit is reached.
  case full
  /// Not appended, since the queue is closed.
  case closed
}

/// One call that processes a batch: its input and its result.
package struct QueueTurn {
  /// The batch has been taken for this turn. Otherwise it is the rest of an earlier one.
  package let isNew: Bool
  /// A flush or the close waits for what is in the batch.
  package let isFlush: Bool
  /// The queue was closed before the batch was taken: it is the last.
  package let isLast: Bool
  /// When to come again at the latest.
  package var next = Instant.never
  /// Whether a flush may return; `false` if bytes are not durable yet.
  package var isDone = true
}

private struct QueueState {
  /// Elements that were ever added, and how many of them are done. The close counts as one.
  var added: UInt64 = 0
  var done: UInt64 = 0
  /// Elements up to here are asked to be flushed.
  var flushTarget: UInt64 = 0
  var dropped: UInt64 = 0
  var isClosed = false
  var isAbandoned = false
}

/// A bounded queue between the threads that add elements and the one that processes them, batch by batch: the
/// worker's, or one that drains or flushes.
///
/// There are two buffers: elements go into one while the other is processed, and they are swapped under a
/// lock. Nothing is processed under that lock, so no thread that adds waits for one that processes.
package final class BoundedQueue<Buffer: QueueBuffer & Sendable>: BackgroundJob, FlushedAtExit {
  /// What is processed, or was last.
  private struct Batch {
    var elements = Buffer()
    /// Elements that were added before it was taken.
    var taken: UInt64 = 0
    var isLast = false
  }

  private let state = Mutex(QueueState())
  /// Guarded by `state`, and not within it: code that another module uses looks the metadata of a generic
  /// `Mutex` up at each call, which took 1,300 instructions a line of the log.
  @exclusivity(unchecked) private nonisolated(unsafe) var waiting = Buffer()
  /// Held while a batch is processed, so that batches do not overtake each other.
  private let current = Mutex(Batch())
  private let process: @Sendable (inout Buffer, inout QueueTurn) -> Void
  private let worker = Worker()
  /// Wakes the threads that wait in a flush.
  private let progress = EventCount()
  /// The thread that processes a batch. A flush on it must not wait for itself.
  private let thread = Atomic<UInt>(0)

  /// - Parameter process: Processes a batch and takes it out of the buffer, as far as it can. What is left
  ///   is passed again.
  package init(process: @escaping @Sendable (inout Buffer, inout QueueTurn) -> Void) {
    self.process = process
  }

  /// The elements that were ever added.
  package var addedCount: UInt64 { state.withLock { $0.isClosed ? $0.added &- 1 : $0.added } }
  /// The elements that found the queue full or closed.
  package var droppedCount: UInt64 { state.withLock { $0.dropped } }

  /// Adds an element by appending it to the buffer, or drops and counts it.
  @discardableResult
  package func add(_ append: (inout Buffer) -> QueueFill) -> QueueFill {
    let fill = state.withLock { state in
      let fill = state.isClosed ? .closed : append(&waiting)
      if fill == .full || fill == .closed { state.dropped &+= 1 } else { state.added &+= 1 }
      return fill
    }
    switch fill {
    case .first: wake(by: .nextTick)
    case .many: wake()
    // Nothing else wakes it: the first element is in the queue already.
    case .some, .full, .closed: if worker.lacksThread { wake(by: .nextTick) }
    }
    return fill
  }

  /// Wakes the worker. `false` if the system refuses a thread: each added element, flush and drain tries
  /// again.
  @discardableResult
  package func wake(by instant: Instant = .now) -> Bool { (try? worker.run(self, by: instant)) != nil }

  /// Wakes the worker if the last call of ``wake(by:)`` could not.
  package func wakeIfRefused() { if worker.lacksThread { wake() } }

  /// Runs the worker once, to find out whether the system gives a thread.
  package func start() throws(System.Failure) { try worker.run(self) }

  /// Processes what waits, on this thread. Waits only for the same work on another one.
  package func drain() { _ = run(at: .now) }

  /// Waits until all elements that were added before are done. `false` if the deadline came first or the
  /// queue is abandoned, and at once on the thread that processes. If the system refuses a thread, the caller
  /// processes the elements.
  @discardableResult
  package func flush(until deadline: Instant) -> Bool {
    let target = state.withLock { state -> UInt64? in
      if state.done == state.added { return nil }
      state.flushTarget = state.added
      return state.added
    }
    guard let target else { return true }
    guard thread.load(ordering: .relaxed) != BackgroundThread.current else {
      wake()
      return false
    }
    while true {
      let hasWorker = wake()
      let next = hasWorker ? .never : max(run(at: .now), .now.advanced(by: Self.pauseWithoutThread))
      let isDone = progress.wait(until: min(next, deadline)) {
        state.withLock { $0.done >= target ? true : $0.isAbandoned ? false : nil }
      }
      if let isDone { return isDone }
      if deadline <= .now { return false }
    }
  }

  /// How long a flush waits before it tries to start a thread again.
  private static var pauseWithoutThread: Duration { .milliseconds(10) }

  package func flushAtExit(within limit: Duration) { flush(until: .now.advanced(by: limit)) }

  /// Says that hardly any elements will come, and nothing is due: the thread ends now, and after each batch.
  package func endThread() { worker.end() }

  /// Takes no more elements. A later flush also waits for the last turn.
  package func close() {
    let isFirst = state.withLock { state in
      guard !exchange(&state.isClosed, with: true) else { return false }
      state.added &+= 1
      state.flushTarget = state.added
      return true
    }
    guard isFirst, !wake() else { return }
    // Perhaps no later call tries again.
    BackgroundThread.startNowOrLater { self.flush(until: .now.advanced(by: .seconds(5))) }
  }

  /// Ends all flushes: what they wait for will not be done.
  package func abandon() {
    state.withLock { $0.isAbandoned = true }
    progress.signal()
  }

  package func run(at now: Instant) -> Instant {
    guard thread.load(ordering: .relaxed) != BackgroundThread.current else { return .never }
    return current.withLock { batch in
      let isNew = batch.elements.isEmpty
      // The last one is over.
      if batch.isLast, isNew { return .never }
      thread.store(BackgroundThread.current, ordering: .relaxed)
      defer { thread.store(0, ordering: .relaxed) }
      var turn = state.withLock { state in
        if isNew {
          swap(&waiting, &batch.elements)
          (batch.taken, batch.isLast) = (state.added, state.isClosed)
        }
        return QueueTurn(isNew: isNew, isFlush: state.flushTarget > state.done, isLast: batch.isLast)
      }
      process(&batch.elements, &turn)
      guard batch.elements.isEmpty else { return turn.next }
      if turn.isLast { worker.end() }
      if turn.isDone {
        state.withLock { if !$0.isAbandoned { $0.done = batch.taken } }
        progress.signal()
      }
      // New elements have asked for a turn, and this one was the old batch's.
      return isNew ? turn.next : .now
    }
  }
}

import Synchronization

/// Hands on what has ended, a group at a time, away from the path of the requests.
///
/// To note an element costs a tenth of what observers' own code costs when the processor has to fetch that code first. A
/// group is so large that the code is fetched once for many, and so small that it stays in the cache for data.
///
/// An element waits for at most a tenth of a second, or for a ``flush()``; then a thread of the queue's hands it on. Where that
/// does not keep up, whoever completes a group hands on: nothing is dropped, and memory is bounded.
///
/// The delay is as long as a reader of the log may wait. All queues of a process hand on at the same moments, so that what
/// comes behind them, such as the log's writer, has one batch to work on, and not one from each: each waking pushes the
/// requests' own threads about. On two cores a request costs half a percent more with 25 ms than with 100, and with 2 ms
/// three percent.
package final class BatchQueue<Element: Sendable>: FlushedAtExit {
  private let groups = Mutex(ElementGroups<Element>())
  /// How many elements were handed on. Held meanwhile, so that groups do not overtake each other.
  private let turn = Mutex<UInt64>(0)
  /// The thread that hands on: an observer that asks for a flush, by a scrape of its own say, must not wait for
  /// itself.
  private let busyThread = Atomic<UInt>(0)
  /// Wakes the thread.
  private let work = EventCount()
  private let hurryLimit: Int
  private let helpLimit: Int
  private let delay: Duration
  private let rest: Duration
  private let deliver: @Sendable ([Element]) -> Void

  /// The most groups that one who helps hands on: a quarter of a millisecond's work, and more than come meanwhile.
  private static var helpSize: Int { 8 }

  /// - Parameters:
  ///   - hurryLimit: So many complete groups wake the thread before its time.
  ///   - helpLimit: So many are more than the thread's part: whoever completes a group helps, until its next turn.
  ///   - delay: How long an element waits at most for the thread.
  ///   - rest: A thread that has nothing to do for so long ends, and the next element starts another.
  ///   - deliver: Hands on a group, in order, on one thread at a time.
  package init(
    hurryLimit: Int = .max, helpLimit: Int, delay: Duration = .milliseconds(100),
    rest: Duration = .seconds(1), deliver: @escaping @Sendable ([Element]) -> Void
  ) {
    self.delay = delay
    self.rest = rest
    self.hurryLimit = hurryLimit
    self.helpLimit = helpLimit
    self.deliver = deliver
  }

  /// Notes an element.
  package func add(_ element: Element) {
    var thread = DeliveryThread.working
    var completeCount = 0
    var needsHelp = false
    groups.withLock { groups in
      if groups.add(element) {
        completeCount = groups.count
        if completeCount >= helpLimit { groups.needsHelp = true }
        needsHelp = groups.needsHelp
      }
      swap(&thread, &groups.thread)
    }
    switch thread {
    case .none: startThread()
    case .resting: work.signal()
    case .working: if completeCount > 0 { completed(completeCount, needsHelp: needsHelp) }
    }
  }

  /// A group is complete, the last of so many.
  private func completed(_ count: Int, needsHelp: Bool) {
    if count >= ElementGroups<Element>.limit {
      flush()  // To wait for others' observers is better than memory without a bound.
    } else if needsHelp {
      help()
    } else if count == hurryLimit {
      work.signal()
    }
  }

  /// Hands on some groups, unless somebody else does.
  private func help() {
    unlessBusy {
      _ = turn.withLockIfAvailable { delivered in
        for _ in 0..<Self.helpSize { guard handOn(&delivered) else { break } }
      }
    }
  }

  /// Hands on all that was noted before. Does nothing when called by an observer.
  package func flush() {
    let target = groups.withLock { $0.added }
    unlessBusy {
      while turn.withLock({ $0 < target && handOn(&$0) }) {}
    }
  }

  /// Hands on the oldest group. Whether there was one.
  private func handOn(_ delivered: inout UInt64) -> Bool {
    guard var group = groups.withLock({ $0.takeFirst() }) else { return false }
    busyThread.store(BackgroundThread.current, ordering: .relaxed)
    defer { busyThread.store(0, ordering: .relaxed) }
    deliver(group)
    delivered &+= UInt64(group.count)
    group.removeAll(keepingCapacity: true)
    groups.withLock { $0.recycle(group) }
    return true
  }

  private func unlessBusy(_ body: () -> Void) {
    if busyThread.load(ordering: .relaxed) != BackgroundThread.current { body() }
  }

  private func startThread() {
    do {
      try BackgroundThread.start { self.run() }
    } catch {
      groups.withLock { $0.thread = .none }  // The next element tries again.
      flush()
    }
  }

  /// Hands on at intervals, until nothing comes any more.
  private func run() {
    var ticket = work.ticket
    while true {
      if groups.withLock({ $0.count < hurryLimit }) {
        work.wait(past: ticket, until: .now.next(multipleOf: delay))
      }
      ticket = work.ticket
      flush()
      let isResting = groups.withLock { groups in
        groups.needsHelp = false
        return groups.pause(.resting)
      }
      guard isResting else { continue }
      let isWoken = work.wait(past: ticket, until: .now.advanced(by: rest))
      if !isWoken, groups.withLock({ $0.pause(.none) }) { return }
      ticket = work.ticket
    }
  }

  package func flushAtExit(within limit: Duration) {
    // On another thread: an observer may take its time, and an exit must not.
    let done = EventCount()
    let ticket = done.ticket
    let isStarted: Void? = try? BackgroundThread.start {
      self.flush()
      done.signal()
    }
    if isStarted != nil { done.wait(past: ticket, until: .now.advanced(by: limit)) }
  }
}

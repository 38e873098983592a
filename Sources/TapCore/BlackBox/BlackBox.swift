import Synchronization

/// Keeps the active and the unstarted requests in a file that outlives the process: a slot for each, which
/// the thread of the request writes when it is made or begins, and frees at its end. It waits for a short
/// lock at most.
///
/// What the thread calls is never inlined: a request without a black box would pay for it.
package final class BlackBox: Sendable {
  /// Where a request is kept.
  package struct Slot: Sendable {
    fileprivate let index: Int32

    static let none = Slot(index: -1)
    var isNone: Bool { index == Slot.none.index }
    /// The request found no slot, and is counted.
    fileprivate static let missing = Slot(index: -2)
  }

  /// Writes the URL of a request, or the path of a served one, as the log shows it, but without a query.
  /// Returns how many bytes it has; those that do not fit are not written. Never waits.
  package typealias WriteURL = @Sendable (String, RequestDirection, UnsafeMutableRawBufferPointer) -> Int

  private let file: BlackBoxFile
  private let memory: SharedMapping
  private let writeURL: WriteURL?
  /// The numbers of the free slots. The last one is taken, which is likely in a processor's cache.
  private let freeSlots = Mutex((0..<Int32(BlackBoxHeader.slotCount)).reversed() as [Int32])
  private let missed = Atomic<Int>(0)
  private let watch: Watch
  private let worker = Worker()

  /// Takes a file over, and forgets what a process before has left in it.
  ///
  /// - Parameters:
  ///   - writeURL: `nil` keeps nothing of a request but what the app's code has named, and its host.
  ///   - report: Called with what happens to the file. Never waits.
  package init(
    _ file: BlackBoxFile, serviceName: String, writeURL: WriteURL?,
    report: @escaping @Sendable (String) -> Void
  ) throws(BlackBoxError) {
    memory = try file.takeOver(serviceName: serviceName)
    (self.file, self.writeURL, watch) = (file, writeURL, Watch(of: file, report))
    try? worker.run(watch)
  }

  deinit { close() }

  /// Keeps a request that is unstarted or begins.
  ///
  /// - Parameters:
  ///   - isToldByApp: The app says when the response begins.
  ///   - time: The begin on the wall clock; 0 if it is unknown.
  @inline(never)
  package func keep(
    _ request: borrowing RequestDescription, isStarted: Bool, isToldByApp: Bool = false,
    at begin: Instant = .now, _ time: Timestamp = Timestamp(nanosecondsSinceEpoch: 0)
  ) -> Slot {
    guard let index = freeSlots.withLock({ $0.popLast() }) else {
      missed.wrappingAdd(1, ordering: .relaxed)
      count(1)
      return .missing
    }
    self[index].write(
      request, isStarted ? .active : .unstarted, isToldByApp: isToldByApp, at: begin, time, writeURL)
    return Slot(index: index)
  }

  /// Notes that an unstarted request begins, or keeps one that was given up before.
  @inline(never)
  package func begin(
    _ slot: inout Slot, _ request: borrowing RequestDescription, at begin: Instant, _ time: Timestamp
  ) {
    if slot.index >= 0 {
      self[slot.index].begin(at: begin, time)
    } else if slot.index == Slot.none.index {
      slot = keep(request, isStarted: true, at: begin, time)
    }
  }

  /// Notes that the head of the response has come or gone.
  @inline(never)
  func note(statusCode: Int, template: String?, in slot: Slot) {
    if slot.index >= 0 { self[slot.index].note(statusCode: statusCode, template: template) }
  }

  /// Forgets a request, which has ended or was given up.
  @inline(never)
  package func free(_ slot: inout Slot, at end: Instant) {
    if slot.index >= 0 {
      self[slot.index].free(at: end)
      freeSlots.withLock { $0.append(slot.index) }
    } else if slot.index == Slot.missing.index {
      count(-1)
    }
    slot = .none
  }

  private subscript(index: Int32) -> BlackBoxSlot {
    BlackBoxSlot(at: memory.memory + (BlackBoxHeader.size + Int(index) * BlackBoxSlot.size))
  }

  private func count(_ change: Int64) {
    memory.word(at: BlackBoxHeader.Place.missing).pointee.wrappingAdd(change, ordering: .relaxed)
  }

  /// Marks the file as that of a regular end, and releases it.
  package func close() {
    file.close()
    worker.end()
  }

  /// What the process before has left, unless it ended in order.
  package var previous: BlackBoxContent? { file.content }

  /// How many requests have found no slot.
  package var missedCount: Int { missed.load(ordering: .relaxed) }

  /// Starts the thread that looks at the file, if the system refused it before.
  func wakeIfRefused() { if worker.lacksThread { try? worker.run(watch) } }

  /// Looks at the file and writes a sign of life each second.
  private final class Watch: BackgroundJob {
    private let report: @Sendable (String) -> Void
    private weak let file: BlackBoxFile?

    init(of file: BlackBoxFile, _ report: @escaping @Sendable (String) -> Void) {
      (self.file, self.report) = (file, report)
    }

    func run(at now: Instant) -> Instant {
      guard let file else { return .never }
      let (fault, comesAgain) = file.look(at: now)
      if let fault { report("the black box \(file.path) \(fault)") }
      return comesAgain ? now.next(multipleOf: 1_000_000_000) : .never
    }
  }
}

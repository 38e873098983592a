import Synchronization
import TapCore
import TapLibc

/// The thread of an event loop, its executor. It is none of Dispatch's, whose threads the app may use up.
final class EventLoopThread: SerialExecutor {
  private struct State {
    var work: [@Sendable () -> Void] = []
    /// Waits for events once, and handles them. `nil` before the start and after the end.
    var turn: (@Sendable () -> Void)?
    /// The thread that does the work, if one does.
    var thread: UInt?
  }

  private let state = Mutex(State())
  /// A pipe: what is written to one end wakes the thread, which polls the other.
  let wakeDescriptor: Int32
  private let wakingDescriptor: Int32

  init() throws(System.Failure) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw System.Failure(code: errno) }
    let reading = try? System.aboveStandard(ends[0])
    let writing = try? System.aboveStandard(ends[1])
    guard let reading, let writing else {
      for end in [reading, writing] { end.map(System.close) }
      throw .tooManyFiles
    }
    (wakeDescriptor, wakingDescriptor) = (reading, writing)
    for end in [wakeDescriptor, wakingDescriptor] { Socket.configure(end) }
  }

  deinit {
    System.close(wakeDescriptor)
    System.close(wakingDescriptor)
  }

  /// Starts the thread, which takes turns until the end.
  func start(turn: @escaping @Sendable () -> Void) throws(System.Failure) {
    state.withLock { $0.turn = turn }
    do throws(System.Failure) {
      try BackgroundThread.start { [self] in run() }
    } catch {
      end()
      throw error
    }
  }

  /// Lets the thread end when its work is done.
  func end() { state.withLock { $0.turn = nil } }

  /// Does some work on the thread. When that has ended, the caller does it, one at a time.
  func perform(_ work: @escaping @Sendable () -> Void) {
    let (isFirst, hasEnded) = state.withLock { state in
      state.work.append(work)
      return (state.work.count == 1, state.turn == nil && state.thread == nil)
    }
    if hasEnded { run() } else if isFirst { wake() }
  }

  private func wake() {
    // A full pipe wakes the thread too.
    _ = [0].withUnsafeBytes { write(wakingDescriptor, $0.baseAddress, 1) }
  }

  /// Takes back what woke the thread.
  func clearWake() {
    var buffer = (UInt64(0), UInt64(0))
    _ = withUnsafeMutableBytes(of: &buffer) { read(wakeDescriptor, $0.baseAddress, $0.count) }
  }

  private func run() {
    let current = BackgroundThread.current
    let isAlone = state.withLock { state in
      defer { state.thread = state.thread ?? current }
      return state.thread == nil
    }
    guard isAlone else { return }
    while true {
      let work: [@Sendable () -> Void]? = state.withLock { state in
        defer { state.work = [] }
        if !state.work.isEmpty || state.turn != nil { return state.work }
        state.thread = nil
        return nil
      }
      guard let work else { return }
      for work in work { work() }
      state.withLock { $0.turn }?()
    }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    perform { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }

  func checkIsolated() {
    precondition(state.withLock { $0.thread } == BackgroundThread.current, "not on the event loop's thread")
  }
}

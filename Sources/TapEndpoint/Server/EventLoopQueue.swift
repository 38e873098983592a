import Synchronization
import TapCore

/// The work that other threads leave to an event loop, and the pipe that wakes it.
final class EventLoopQueue: Sendable {
  typealias Work = @Sendable (EventLoop) -> Void

  /// Can be read while there is work.
  let wakeDescriptor: Int32
  private let pipeInput: Int32
  /// `nil` when the loop has ended.
  private let work = Mutex<[Work]?>([])

  /// `nil` if the system gives no pipe: see `errno`.
  init?() {
    guard let pipe = Socket.makePipe() else { return nil }
    (wakeDescriptor, pipeInput) = pipe
  }

  deinit {
    System.close(wakeDescriptor)
    System.close(pipeInput)
  }

  /// Lets the loop do the work soon, on its thread and in order.
  /// - Returns: `false` if the loop has ended and never will.
  @discardableResult
  func add(_ item: @escaping Work) -> Bool {
    let count = work.withLock { work in
      work?.append(item)
      return work?.count
    }
    if count == 1 { _ = withUnsafeBytes(of: UInt8(0)) { try? System.write($0, to: pipeInput) } }
    return count != nil
  }

  /// Takes the work, when the descriptor can be read.
  func take() -> [Work] {
    var byte: UInt8 = 0
    _ = withUnsafeMutableBytes(of: &byte) { try? System.read(wakeDescriptor, into: $0) }
    return work.withLock { work in
      defer { work = [] }
      return work ?? []
    }
  }

  /// Takes the last work. No further one is added.
  func end() -> [Work] {
    work.withLock { work in
      defer { work = nil }
      return work ?? []
    }
  }

  /// Ends the loop in order, and returns when its port is free.
  func drain() async {
    await withCheckedContinuation { continuation in
      let isRunning = add { $0.drain { continuation.resume() } }
      if !isRunning { continuation.resume() }
    }
  }
}

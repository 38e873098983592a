import Synchronization
import TapLibc

/// The values of one series, each under a lock of its own: one at first, one for each core from the first
/// contention on.
///
/// The scheme is that of Striped64 and LongAdder, with a lock in each cell. A recorder tries the cell of its
/// thread; if the lock is taken, it goes on to another one. A reader locks one cell at a time and adds up.
struct StripedCells<Value: Sendable>: ~Copyable, @unchecked Sendable {
  private let makeValue: @Sendable () -> Value
  private let first: Mutex<Value>
  /// The others, `nil` until the first contention. They never move, and are freed in `deinit` only.
  private let others = Atomic<UnsafeMutableRawPointer?>(nil)

  init(_ makeValue: @escaping @Sendable () -> Value) {
    self.makeValue = makeValue
    first = Mutex(makeValue())
  }

  deinit { others.load(ordering: .acquiring).map(Self.free) }

  /// Runs `body` on one cell, under its lock.
  @inline(__always)
  func withCell(_ body: (inout Value) -> Void) {
    if !tryCell(body) { withAnotherCell(body) }
  }

  func forEachCell(_ body: (inout Value) -> Void) {
    first.withLock { body(&$0) }
    guard let others = others.load(ordering: .acquiring) else { return }
    for number in 1..<maximumStripeCount { Self.cell(number, of: others).pointee.withLock { body(&$0) } }
  }

  /// Runs `body` on the cell of this thread, unless it is locked.
  @inline(__always)
  private func tryCell(_ body: (inout Value) -> Void) -> Bool {
    if let others = others.load(ordering: .acquiring) {
      let number = ThreadProbe.current & (maximumStripeCount - 1)
      if number > 0 {
        return Self.cell(number, of: others).pointee.withLockIfAvailable { body(&$0) } != nil
      }
    }
    return first.withLockIfAvailable { body(&$0) } != nil
  }

  /// Contention: move this thread to another cell, and block only if all cells are locked.
  @inline(never)
  private func withAnotherCell(_ body: (inout Value) -> Void) {
    if maximumStripeCount > 1, others.load(ordering: .acquiring) == nil { makeOthers() }
    for _ in 0..<maximumStripeCount {
      ThreadProbe.advance()
      if tryCell(body) { return }
    }
    first.withLock { body(&$0) }
  }

  private func makeOthers() {
    let made = UnsafeMutableRawPointer.allocate(
      byteCount: (maximumStripeCount - 1) * Self.stride, alignment: cacheLineLength)
    for number in 1..<maximumStripeCount {
      Self.cell(number, of: made).initialize(to: Mutex(makeValue()))
    }
    // Another recorder may have made them first.
    if !others.compareExchange(expected: nil, desired: made, ordering: .acquiringAndReleasing).exchanged {
      Self.free(made)
    }
  }

  private static func free(_ others: UnsafeMutableRawPointer) {
    for number in 1..<maximumStripeCount { cell(number, of: others).deinitialize(count: 1) }
    others.deallocate()
  }

  /// A cell, which fills whole cache lines: no two cores write to the same line.
  @inline(__always)
  private static func cell(
    _ number: Int, of others: UnsafeMutableRawPointer
  ) -> UnsafeMutablePointer<Mutex<Value>> {
    (others + (number - 1) * stride).assumingMemoryBound(to: Mutex<Value>.self)
  }

  private static var stride: Int {
    (MemoryLayout<Mutex<Value>>.size + cacheLineLength - 1) & ~(cacheLineLength - 1)
  }
}

private let cacheLineLength = 64

/// The most cells of a series: the power of two at or above the number of cores, at most 64. A global,
/// because a generic type has no stored static properties.
private let maximumStripeCount: Int = {
  let count = min(System.coreCount, 64)
  return count == 1 ? 1 : 1 << (Int.bitWidth - (count - 1).leadingZeroBitCount)
}()

/// A small number per thread that chooses the thread's cell, as in Striped64 and LongAdder: after contention
/// in a cell, a thread moves on to another one, and soon each thread has a cell of its own.
private enum ThreadProbe {
  /// The number of the calling thread, 0 at first.
  static var current: Int {
    guard let key else { return 0 }
    return Int(bitPattern: pthread_getspecific(key))
  }

  static func advance() {
    guard let key else { return }
    pthread_setspecific(key, UnsafeRawPointer(bitPattern: current &+ 1))
  }

  /// `nil` if the process has used up its keys: every thread then begins at the same cell, which is slow but
  /// still correct.
  private static let key: pthread_key_t? = {
    var key = pthread_key_t()
    return pthread_key_create(&key, nil) == 0 ? key : nil
  }()
}

import Synchronization
import TapLibc

/// The locked cells of one series: one at first, one for each core from the first contention on.
///
/// The scheme is that of Striped64 and LongAdder, with a lock in each cell. A recorder tries the cell of its
/// thread; if the lock is taken, it goes on to another one. A reader locks one cell at a time and adds up.
///
/// All unsafe memory of the instruments is in this file. A cell is a `Mutex` around its `Header`, followed by
/// plain counters, and fills whole cache lines: no two cores write to the same line, and no reference count is
/// touched on the way (an array of class instances costs twice as much, because every record retains and
/// releases). Cells never move and are freed in `deinit` only.
struct StripedCells<Header: Sendable>: ~Copyable, @unchecked Sendable {
  /// Makes what each cell has at first. So many counters follow it.
  private let makeHeader: @Sendable () -> Header
  private let counterCount: Int
  private let home: Cell
  /// All cells, of which `home` is the first. `nil` until the first contention.
  private let cells = Atomic<UnsafeMutablePointer<Cell>?>(nil)

  init(_ makeHeader: @escaping @Sendable () -> Header, counterCount: Int) {
    self.makeHeader = makeHeader
    self.counterCount = counterCount
    home = Cell(makeHeader(), counterCount)
  }

  deinit {
    guard let cells = cells.load(ordering: .acquiring) else { return home.free() }
    for index in 0..<maximumStripeCount { cells[index].free() }
    cells.deallocate()
  }

  /// Runs `body` on one cell, under its lock. It must not index past `counterCount`.
  @inline(__always)
  func withCell(_ body: (inout Header, UnsafeMutablePointer<UInt64>) -> Void) {
    let cell = cells.load(ordering: .acquiring).map { $0[ThreadProbe.current & (maximumStripeCount - 1)] }
    if !(cell ?? home).tryLock(body) { withAnotherCell(body) }
  }

  func forEachCell(_ body: (inout Header, UnsafeMutablePointer<UInt64>) -> Void) {
    guard let cells = cells.load(ordering: .acquiring) else { return home.lock(body) }
    for index in 0..<maximumStripeCount { cells[index].lock(body) }
  }

  /// Contention: move this thread to another cell, and block only if all cells are locked.
  @inline(never)
  private func withAnotherCell(_ body: (inout Header, UnsafeMutablePointer<UInt64>) -> Void) {
    guard maximumStripeCount > 1 else { return home.lock(body) }
    let cells = cells.load(ordering: .acquiring) ?? makeCells()
    for _ in 0..<maximumStripeCount {
      ThreadProbe.advance()
      if cells[ThreadProbe.current & (maximumStripeCount - 1)].tryLock(body) { return }
    }
    cells[ThreadProbe.current & (maximumStripeCount - 1)].lock(body)
  }

  private func makeCells() -> UnsafeMutablePointer<Cell> {
    let made = UnsafeMutablePointer<Cell>.allocate(capacity: maximumStripeCount)
    made.initialize(to: home)
    for index in 1..<maximumStripeCount { (made + index).initialize(to: Cell(makeHeader(), counterCount)) }
    let (_, others) = cells.compareExchange(expected: nil, desired: made, ordering: .acquiringAndReleasing)
    guard let others else { return made }
    // Another recorder made them first.
    for index in 1..<maximumStripeCount { made[index].free() }
    made.deallocate()
    return others
  }

  private struct Cell {
    let mutex: UnsafeMutablePointer<Mutex<Header>>

    private static var cacheLine: Int { 64 }
    private static var countersOffset: Int { (MemoryLayout<Mutex<Header>>.size + 7) & ~7 }

    init(_ header: Header, _ counterCount: Int) {
      let size = Self.countersOffset + counterCount * MemoryLayout<UInt64>.stride
      let memory = UnsafeMutableRawPointer.allocate(
        byteCount: (size + Self.cacheLine - 1) & ~(Self.cacheLine - 1), alignment: Self.cacheLine)
      mutex = memory.bindMemory(to: Mutex<Header>.self, capacity: 1)
      mutex.initialize(to: Mutex(header))
      counters.initialize(repeating: 0, count: counterCount)
    }

    var counters: UnsafeMutablePointer<UInt64> {
      (UnsafeMutableRawPointer(mutex) + Self.countersOffset).assumingMemoryBound(to: UInt64.self)
    }

    @inline(__always)
    func tryLock(_ body: (inout Header, UnsafeMutablePointer<UInt64>) -> Void) -> Bool {
      mutex.pointee.withLockIfAvailable { body(&$0, counters) } != nil
    }

    @inline(__always)
    func lock(_ body: (inout Header, UnsafeMutablePointer<UInt64>) -> Void) {
      mutex.pointee.withLock { body(&$0, counters) }
    }

    func free() {
      mutex.deinitialize(count: 1)
      UnsafeMutableRawPointer(mutex).deallocate()
    }
  }
}

/// The most cells of a series: the power of two at or above the number of cores, at most 64. A global, because a generic
/// type has no stored static properties.
private let maximumStripeCount: Int = {
  let count = min(System.coreCount, 64)
  return count == 1 ? 1 : 1 << (Int.bitWidth - (count - 1).leadingZeroBitCount)
}()

/// A small number per thread that chooses the thread's cell, as in Striped64 and LongAdder: after contention in a cell, a
/// thread moves on to another one, and soon each thread has a cell of its own.
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

  /// `nil` if the process has used up its keys: every thread then begins at the same cell, which is slow but still
  /// correct.
  private static let key: pthread_key_t? = {
    var key = pthread_key_t()
    return pthread_key_create(&key, nil) == 0 ? key : nil
  }()
}

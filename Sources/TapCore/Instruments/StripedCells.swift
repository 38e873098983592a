import Synchronization

/// The locked cells of one series: one at first, more under contention.
///
/// The scheme is that of Striped64 and LongAdder, with a lock in each cell. A recorder tries the cell of its
/// thread; if the lock is taken, the number of cells doubles, up to the number of cores. A reader locks one cell at
/// a time and adds up.
///
/// All unsafe memory of the instruments is in this file. A cell is a `Mutex` around its `Header`, followed by
/// plain counters, and fills whole cache lines: no two cores write to the same line, and no reference count is
/// touched on the way (an array of class instances costs twice as much, because every record retains and
/// releases). Cells never move and are freed in `deinit` only.
struct StripedCells<Header: StripedCellHeader>: ~Copyable, @unchecked Sendable {
  /// The counters that follow each header.
  private let counterCount: Int
  private let home: Cell
  /// `nil` until the first contention. Every table holds the cells of the one before it.
  private let table: Atomic<UnsafeMutablePointer<Table>?>

  init(counterCount: Int) {
    self.counterCount = counterCount
    home = Cell(counterCount: counterCount)
    table = Atomic(nil)
  }

  deinit {
    guard let last = table.load(ordering: .acquiring) else { return home.free() }
    for index in 0..<last.pointee.count { last.pointee.cells[index].free() }
    var next: UnsafeMutablePointer<Table>? = last
    while let current = next {
      next = current.pointee.previous
      current.pointee.cells.deallocate()
      current.deallocate()
    }
  }

  /// Runs `body` on one cell, under its lock. It must not index past `counterCount`.
  @inline(__always)
  func withCell(_ body: (inout Header, UnsafeMutablePointer<UInt64>) -> Void) {
    let cell: Cell
    if let table = table.load(ordering: .acquiring) {
      cell = table.pointee.cells[ThreadProbe.current & (table.pointee.count - 1)]
    } else {
      cell = home
    }
    if !cell.tryLock(body) { withAnotherCell(body) }
  }

  /// Runs `body` on each cell in turn, under its lock.
  func forEachCell(_ body: (inout Header, UnsafeMutablePointer<UInt64>) -> Void) {
    guard let table = table.load(ordering: .acquiring) else { return home.lock(body) }
    for index in 0..<table.pointee.count { table.pointee.cells[index].lock(body) }
  }

  var count: Int { table.load(ordering: .acquiring)?.pointee.count ?? 1 }

  /// Contention: grow the table, move this thread to another cell, and block only if all cells are locked.
  @inline(never)
  private func withAnotherCell(_ body: (inout Header, UnsafeMutablePointer<UInt64>) -> Void) {
    guard let table = grow() else { return home.lock(body) }
    for _ in 0..<table.pointee.count {
      ThreadProbe.advance()
      if table.pointee.cells[ThreadProbe.current & (table.pointee.count - 1)].tryLock(body) { return }
    }
    table.pointee.cells[ThreadProbe.current & (table.pointee.count - 1)].lock(body)
  }

  /// Doubles the cells, up to the number of cores. `nil` on a machine with one core.
  private func grow() -> UnsafeMutablePointer<Table>? {
    let last = table.load(ordering: .acquiring)
    let count = last?.pointee.count ?? 1
    guard count < maximumStripeCount else { return last }
    let cells = UnsafeMutablePointer<Cell>.allocate(capacity: count * 2)
    for index in 0..<count { (cells + index).initialize(to: last?.pointee.cells[index] ?? home) }
    for index in count..<(count * 2) { (cells + index).initialize(to: Cell(counterCount: counterCount)) }
    let grown = UnsafeMutablePointer<Table>.allocate(capacity: 1)
    grown.initialize(to: Table(count: count * 2, cells: cells, previous: last))

    let (exchanged, original) = table.compareExchange(
      expected: last, desired: grown, ordering: .acquiringAndReleasing)
    if exchanged { return grown }
    // Another recorder grew first: its cells are as good.
    for index in count..<(count * 2) { cells[index].free() }
    cells.deallocate()
    grown.deallocate()
    return original
  }

  /// The cells at one size. Never changed after it is published; a recorder may still hold an old one.
  private struct Table {
    let count: Int
    let cells: UnsafeMutablePointer<Cell>
    let previous: UnsafeMutablePointer<Table>?
  }

  private struct Cell {
    let mutex: UnsafeMutablePointer<Mutex<Header>>

    private static var cacheLine: Int { 64 }
    private static var countersOffset: Int { (MemoryLayout<Mutex<Header>>.size + 7) & ~7 }

    init(counterCount: Int) {
      let size = Self.countersOffset + counterCount * MemoryLayout<UInt64>.stride
      let memory = UnsafeMutableRawPointer.allocate(
        byteCount: (size + Self.cacheLine - 1) & ~(Self.cacheLine - 1), alignment: Self.cacheLine)
      mutex = memory.bindMemory(to: Mutex<Header>.self, capacity: 1)
      mutex.initialize(to: Mutex(Header()))
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

/// The value in a cell of ``StripedCells`` beside its counters.
protocol StripedCellHeader: Sendable {
  init()
}

/// The most cells of a series: the power of two at or above the number of cores, at most 64. A global, because a generic
/// type has no stored static properties.
private let maximumStripeCount: Int = {
  let count = min(System.coreCount, 64)
  return count == 1 ? 1 : 1 << (Int.bitWidth - (count - 1).leadingZeroBitCount)
}()

/// A ring of whole lines in memory of a fixed size. No line is split at the end of the memory, so that all lines
/// are at most two pieces: one `writev`.
///
/// Beside the bytes stands an index with each line's length and severity. The memory is the system's until
/// lines first fill it.
struct LineBuffer: ~Copyable, @unchecked Sendable {
  let byteCapacity: Int
  let lineCapacity: Int
  private let memory: UnsafeMutableRawPointer
  private let index: UnsafeMutablePointer<Entry>

  /// Where the first line begins, and where the next one goes.
  private var head = 0
  private var tail = 0
  /// While the lines go on at the start of the memory: where those at its end stop.
  private var wrap: Int?
  private var firstEntry = 0
  /// The bytes of the first line that have been consumed already.
  private(set) var consumedOfFirst = 0
  /// How many lines are in the buffer.
  private(set) var count = 0

  private struct Entry {
    var length: UInt32
    var severity: LogSeverity
  }

  init(byteCapacity: Int, lineCapacity: Int) {
    self.byteCapacity = max(1, byteCapacity)
    self.lineCapacity = max(1, lineCapacity)
    memory = .allocate(byteCount: self.byteCapacity, alignment: 8)
    index = .allocate(capacity: self.lineCapacity)
  }

  deinit {
    memory.deallocate()
    index.deallocate()
  }

  var isEmpty: Bool { count == 0 }

  /// The bytes taken, gap at the end of the memory included.
  var byteCount: Int { wrap.map { $0 - head + tail } ?? tail - head }

  /// Adds a line. `false` if there is no room for it.
  mutating func append(_ line: UnsafeRawBufferPointer, severity: LogSeverity) -> Bool {
    guard count < lineCapacity, let place = place(for: line.count) else { return false }
    if let source = line.baseAddress {
      (memory + place).copyMemory(from: source, byteCount: line.count)
    }
    tail = place + line.count
    var entry = firstEntry + count
    if entry >= lineCapacity { entry -= lineCapacity }
    index[entry] = Entry(length: UInt32(truncatingIfNeeded: line.count), severity: severity)
    count += 1
    return true
  }

  private mutating func place(for length: Int) -> Int? {
    if wrap != nil { return length <= head - tail ? tail : nil }
    if length <= byteCapacity - tail { return tail }
    guard length <= head else { return nil }
    wrap = tail
    return 0
  }

  /// The bytes of the first line that are still there, or 0.
  var firstLength: Int { count > 0 ? Int(index[firstEntry].length) - consumedOfFirst : 0 }

  /// All bytes, in order.
  var pieces: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) {
    let start = head + consumedOfFirst
    let first = UnsafeRawBufferPointer(start: memory + start, count: (wrap ?? tail) - start)
    return (first, UnsafeRawBufferPointer(start: memory, count: wrap == nil ? 0 : tail))
  }

  /// The first lines, as many as `limit` bytes hold but one at least, in one piece.
  func prefix(_ limit: Int) -> UnsafeRawBufferPointer {
    let all = pieces.0
    var length = 0
    var entry = firstEntry
    for line in 0..<count {
      let next = Int(index[entry].length) - (line == 0 ? consumedOfFirst : 0)
      if length > 0, length + next > limit { break }
      if length + next > all.count { break }
      length += next
      entry += 1
      if entry == lineCapacity { entry = 0 }
    }
    return UnsafeRawBufferPointer(rebasing: all[..<length])
  }

  /// Calls for each line, in order. Not for a buffer whose first line has been consumed in part.
  func forEach(_ body: (UnsafeRawBufferPointer, LogSeverity) -> Void) {
    var place = head
    var entry = firstEntry
    for _ in 0..<count {
      if place == wrap { place = 0 }
      let length = Int(index[entry].length)
      body(UnsafeRawBufferPointer(start: memory + place, count: length), index[entry].severity)
      place += length
      entry += 1
      if entry == lineCapacity { entry = 0 }
    }
  }

  /// Takes bytes off the front, and adds the lines that are complete with them to `lines`.
  mutating func consume(_ bytes: Int, into lines: inout Tally<LogSeverity>) {
    var left = bytes
    while count > 0 {
      let rest = Int(index[firstEntry].length) - consumedOfFirst
      guard left >= rest else {
        consumedOfFirst += left
        return
      }
      left -= rest
      lines[index[firstEntry].severity] += 1
      removeFirst()
    }
  }

  /// Takes the first line out. Nothing happens if there is none.
  mutating func removeFirst() {
    guard count > 0 else { return }
    head += Int(index[firstEntry].length)
    consumedOfFirst = 0
    firstEntry += 1
    if firstEntry == lineCapacity { firstEntry = 0 }
    count -= 1
    if head == wrap {
      head = 0
      wrap = nil
    }
    if count == 0 { removeAll() }
  }

  /// Takes all lines out.
  mutating func removeAll() {
    head = 0
    tail = 0
    wrap = nil
    firstEntry = 0
    consumedOfFirst = 0
    count = 0
  }
}

/// A ring of whole lines, in memory that grows with what waits, up to a limit. No line is split at the end of the
/// memory, so that all lines are at most two pieces: one `writev`.
///
/// Beside the bytes stands an index with each line's length and severity, a ring too.
struct LineBuffer: ~Copyable, @unchecked Sendable {
  let byteLimit: Int
  let lineLimit: Int
  private var memory = UnsafeMutableBufferPointer<UInt8>(start: nil, count: 0)
  private var index = UnsafeMutableBufferPointer<Entry>(start: nil, count: 0)
  /// What the first line gets memory for, within the limits.
  private static let leastBytes = 65_536
  private static let leastLines = 1_024

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

  init(byteLimit: Int, lineLimit: Int) {
    self.byteLimit = max(1, byteLimit)
    self.lineLimit = max(1, lineLimit)
  }

  deinit {
    System.free(memory.baseAddress)
    System.free(index.baseAddress)
  }

  /// How many bytes there is memory for.
  var byteCapacity: Int { memory.count }

  var isEmpty: Bool { count == 0 }

  /// The bytes taken, gap at the end of the memory included.
  var byteCount: Int { wrap.map { $0 - head + tail } ?? tail - head }

  /// Adds a line. `false` if there is no room for it within the limits, or the system has no memory.
  mutating func append(_ line: UnsafeRawBufferPointer, severity: LogSeverity) -> Bool {
    guard count < index.count || growIndex(),
      let place = place(for: line.count) ?? (growMemory(by: line.count) ? place(for: line.count) : nil)
    else { return false }
    if let source = line.baseAddress, let target = memory.baseAddress {
      UnsafeMutableRawPointer(target + place).copyMemory(from: source, byteCount: line.count)
    }
    tail = place + line.count
    var entry = firstEntry + count
    if entry >= index.count { entry -= index.count }
    index[entry] = Entry(length: UInt32(truncatingIfNeeded: line.count), severity: severity)
    count += 1
    return true
  }

  private mutating func growIndex() -> Bool {
    // Full: what stands from the first entry on is the older part.
    guard let shift = Self.grow(&index, by: Self.leastLines, limit: lineLimit, moving: firstEntry) else {
      return false
    }
    if firstEntry > 0 { firstEntry += shift }
    return true
  }

  private mutating func growMemory(by length: Int) -> Bool {
    let start = wrap == nil ? memory.count : head
    guard let shift = Self.grow(&memory, by: max(length, Self.leastBytes), limit: byteLimit, moving: start)
    else { return false }
    if let wrap {
      head += shift
      self.wrap = wrap + shift
    }
    return true
  }

  /// Makes a ring twice as large or larger by so much, within its limit, and moves what it has from `start` on to its new
  /// end. Gives how far, or `nil` if the ring stays as it is.
  private static func grow<Element>(
    _ ring: inout UnsafeMutableBufferPointer<Element>, by least: Int, limit: Int, moving start: Int
  ) -> Int? {
    let count = ring.count
    let newCount = min(limit, count + max(count, least))
    guard newCount > count,
      let memory = System.reallocate(ring.baseAddress, byteCount: newCount * MemoryLayout<Element>.stride)
    else { return nil }
    let base = memory.bindMemory(to: Element.self, capacity: newCount)
    if start > 0 { (base + (start + newCount - count)).update(from: base + start, count: count - start) }
    ring = UnsafeMutableBufferPointer(start: base, count: newCount)
    return newCount - count
  }

  private mutating func place(for length: Int) -> Int? {
    if wrap != nil { return length <= head - tail ? tail : nil }
    if length <= memory.count - tail { return tail }
    guard length <= head else { return nil }
    wrap = tail
    return 0
  }

  /// The bytes of the first line that are still there, or 0.
  var firstLength: Int { count > 0 ? Int(index[firstEntry].length) - consumedOfFirst : 0 }

  private func bytes(_ range: Range<Int>) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[range])
  }

  /// All bytes, in order.
  var pieces: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) {
    let start = head + consumedOfFirst
    return (bytes(start..<(wrap ?? tail)), bytes(0..<(wrap == nil ? 0 : tail)))
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
      if entry == index.count { entry = 0 }
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
      body(bytes(place..<place + length), index[entry].severity)
      place += length
      entry += 1
      if entry == index.count { entry = 0 }
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

  /// Moves the first lines to the end of another buffer, as many as fit there. Not for a buffer whose first line has been
  /// consumed in part.
  mutating func moveFirst(_ lines: Int, to other: inout LineBuffer) {
    for _ in 0..<min(lines, count) {
      let line = bytes(head..<head + Int(index[firstEntry].length))
      guard other.append(line, severity: index[firstEntry].severity) else { return }
      removeFirst()
    }
  }

  /// Takes the first line out. Nothing happens if there is none.
  mutating func removeFirst() {
    guard count > 0 else { return }
    head += Int(index[firstEntry].length)
    consumedOfFirst = 0
    firstEntry += 1
    if firstEntry == index.count { firstEntry = 0 }
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

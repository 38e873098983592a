import TapCore

/// Whole lines, one behind another: their bytes, and the length and severity of each. A short write may end
/// inside the first.
struct LineBuffer: QueueBuffer, Sendable {
  private var bytes: [UInt8] = []
  private var lines: [(length: Int, severity: LogSeverity)] = []
  /// What has been taken off the front, and is still in the two arrays.
  private var taken = (bytes: 0, lines: 0)
  /// Whether the first line is the rest of one.
  private(set) var isFirstTorn = false

  var count: Int { lines.count - taken.lines }
  var byteCount: Int { bytes.count - taken.bytes }
  var isEmpty: Bool { count == 0 }
  /// The bytes of the first line, or of what is left of it; 0 if there is none.
  var firstLength: Int { isEmpty ? 0 : lines[taken.lines].length }

  /// Appends a line, unless it exceeds a limit. There are many when a limit is half reached, or enough for
  /// one write.
  mutating func append(
    _ line: UnsafeRawBufferPointer, severity: LogSeverity, limits: (bytes: Int, lines: Int)
  ) -> QueueFill {
    guard count < limits.lines, line.count <= limits.bytes - byteCount else { return .full }
    func areMany() -> Bool {
      byteCount >= min(65_536, limits.bytes / 2) || count > limits.lines / 2
    }
    let wereMany = areMany()
    append(line, severity: severity)
    if !wereMany, areMany() { return .many }
    return count == 1 ? .first : .some
  }

  mutating func append(_ line: UnsafeRawBufferPointer, severity: LogSeverity) {
    if taken.bytes > byteCount {
      bytes.removeFirst(taken.bytes)
      lines.removeFirst(taken.lines)
      taken = (0, 0)
    }
    bytes.append(contentsOf: line)
    lines.append((line.count, severity))
  }

  /// How many bytes the first lines have, as many lines as `limit` allows but one at least.
  func length(limit: Int) -> Int {
    if byteCount <= limit { return byteCount }
    var length = firstLength
    for line in lines[(taken.lines + 1)...] {
      if length + line.length > limit { break }
      length += line.length
    }
    return length
  }

  func withBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try bytes.withUnsafeBufferPointer { memory throws(Failure) in
      try body(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: memory[taken.bytes...])))
    }
  }

  /// Calls for each line, in order.
  func forEach(_ body: (UnsafeRawBufferPointer, LogSeverity) -> Void) {
    withBytes { memory in
      var start = 0
      for line in lines[taken.lines...] {
        body(UnsafeRawBufferPointer(rebasing: memory[start..<start + line.length]), line.severity)
        start += line.length
      }
    }
  }

  /// Takes bytes off the front, and gives how many lines are complete with them.
  mutating func take(_ count: Int) -> Tally<LogSeverity> {
    var complete: Tally<LogSeverity> = [:]
    var left = count
    while !isEmpty, left >= firstLength {
      left -= firstLength
      complete[lines[taken.lines].severity, default: 0] += 1
      removeFirst()
    }
    if !isEmpty, left > 0 {
      taken.bytes += left
      lines[taken.lines].length -= left
      isFirstTorn = true
    }
    return complete
  }

  mutating func removeFirst() {
    if count <= 1 { return removeAll() }
    taken = (taken.bytes + firstLength, taken.lines + 1)
    isFirstTorn = false
  }

  /// Takes all lines out, and keeps their memory.
  mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    lines.removeAll(keepingCapacity: true)
    taken = (0, 0)
    isFirstTorn = false
  }
}

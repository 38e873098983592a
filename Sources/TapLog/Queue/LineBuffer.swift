import TapCore

/// Whole lines, one behind another: their bytes, and the length and severity of each. A short write may end
/// inside the first.
struct LineBuffer: QueueBuffer, Sendable {
  private struct Line {
    var length: UInt32
    var severity: LogSeverity
  }

  private var bytes: [UInt8] = []
  private var lines: [Line] = []
  /// What has been taken off the front.
  private var takenBytes = 0
  private var takenLines = 0
  /// The bytes of the first line that have been taken already.
  private(set) var takenOfFirst = 0

  var count: Int { lines.count - takenLines }
  var byteCount: Int { bytes.count - takenBytes }
  var isEmpty: Bool { count == 0 }
  /// The bytes of the first line that are still there, or 0.
  var firstLength: Int { isEmpty ? 0 : Int(lines[takenLines].length) - takenOfFirst }

  /// Appends a line, unless it exceeds a limit. There are many when a limit is half reached, or enough for
  /// one write.
  mutating func append(
    _ line: UnsafeRawBufferPointer, severity: LogSeverity, limits: (bytes: Int, lines: Int)
  ) -> QueueFill {
    guard count < limits.lines, line.count <= limits.bytes - byteCount else { return .full }
    let many = (bytes: min(65_536, limits.bytes / 2), lines: limits.lines / 2)
    let wereMany = byteCount >= many.bytes || count > many.lines
    append(line, severity: severity)
    if !wereMany, byteCount >= many.bytes || count > many.lines { return .many }
    return count == 1 ? .first : .some
  }

  mutating func append(_ line: UnsafeRawBufferPointer, severity: LogSeverity) {
    if takenBytes > byteCount {
      bytes.removeFirst(takenBytes)
      lines.removeFirst(takenLines)
      (takenBytes, takenLines) = (0, 0)
    }
    bytes.append(contentsOf: line)
    lines.append(Line(length: UInt32(truncatingIfNeeded: line.count), severity: severity))
  }

  /// How many bytes the first lines have, as many lines as `limit` allows but one at least.
  func length(limit: Int) -> Int {
    if byteCount <= limit { return byteCount }
    var length = firstLength
    for line in lines[(takenLines + 1)...] {
      if length + Int(line.length) > limit { break }
      length += Int(line.length)
    }
    return length
  }

  func withBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try bytes.withUnsafeBufferPointer { memory throws(Failure) in
      try body(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: memory[takenBytes...])))
    }
  }

  /// Calls for each line, in order. Not for a buffer whose first line has been taken in part.
  func forEach(_ body: (UnsafeRawBufferPointer, LogSeverity) -> Void) {
    withBytes { memory in
      var start = 0
      for line in lines[takenLines...] {
        let end = start + Int(line.length)
        body(UnsafeRawBufferPointer(rebasing: memory[start..<end]), line.severity)
        start = end
      }
    }
  }

  /// Takes bytes off the front, and gives how many lines are complete with them.
  mutating func take(_ count: Int) -> Tally<LogSeverity> {
    var complete: Tally<LogSeverity> = [:]
    // Lines in a row of one severity: the tally is not looked up for each.
    var (severity, inRow) = (LogSeverity.info, UInt64(0))
    var left = count
    while !isEmpty, left >= firstLength {
      left -= firstLength
      let line = lines[takenLines]
      if line.severity != severity, inRow > 0 { complete[severity, default: 0] += exchange(&inRow, with: 0) }
      severity = line.severity
      inRow += 1
      removeFirst()
    }
    if inRow > 0 { complete[severity, default: 0] += inRow }
    takenBytes += left
    takenOfFirst += left
    return complete
  }

  mutating func removeFirst() {
    takenBytes += firstLength
    takenOfFirst = 0
    if !isEmpty { takenLines += 1 }
    if isEmpty { removeAll() }
  }

  /// Takes all lines out, and keeps their memory.
  mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    lines.removeAll(keepingCapacity: true)
    (takenBytes, takenLines, takenOfFirst) = (0, 0, 0)
  }
}

import TapCore

/// Writes one line, part by part, into memory of a fixed size. A part that does not fit is left out as a whole, and
/// how many were is the last thing that the line says.
struct LineWriter {
  private(set) var json: ByteWriter
  /// Parts that did not fit.
  private(set) var cut = 0
  /// Fields that were refused for their key.
  var refused = 0

  /// `dropped_attributes_count` is the name that the OpenTelemetry log data model has for it.
  private static let mark: StaticString = ",\"dropped_attributes_count\":"
  /// The mark, a number of at most six digits, and the end of the line.
  private static let tailLength = mark.utf8CodeUnitCount + 6 + 2

  private init(_ memory: UnsafeMutablePointer<UInt8>, capacity: Int) {
    json = ByteWriter(memory, capacity: capacity)
    json.resume(at: 0, reserving: Self.tailLength)
  }

  /// What all lines begin with. The level of a line is at the same place in each of them.
  @inline(__always)
  mutating func begin(_ time: Timestamp, _ severity: LogSeverity, event: StaticString) {
    json.append("{\"timestamp\":\"")
    json.timestamp(time)
    json.append("\",\"severity\":\"")
    json.append(severity.staticText)
    json.append("\",\"event\":\"")
    json.append(event)
    json.append("\"")
  }

  /// Writes a part of the line as a whole or not at all.
  @inline(__always)
  mutating func part(_ body: (inout ByteWriter) -> Void) {
    if !wholePart(body) { cut += 1 }
  }

  /// Writes a part of the line as a whole. Gives `false`, and counts nothing, if it does not fit.
  @inline(__always)
  mutating func wholePart(_ body: (inout ByteWriter) -> Void) -> Bool {
    let mark = json.count
    body(&json)
    guard json.isFull else { return true }
    json.resume(at: mark, reserving: Self.tailLength)
    return false
  }

  /// Ends the line, and gives it with its newline.
  mutating func finish() -> UnsafeRawBufferPointer {
    json.resume(at: json.count)
    if cut + refused > 0 {
      json.append(Self.mark)
      json.integer(UInt64(min(cut + refused, 999_999)))
    }
    json.append("}\n")
    return json.bytes
  }
}

extension LineWriter {
  /// Makes a line and calls with it, newline included: on the stack if it fits into 1 KiB, the most that the compiler gives there,
  /// and in memory of its own otherwise.
  ///
  /// - Parameter subject: What the line is of. A closure that caught it would hold a copy of it.
  @inline(__always)
  static func withLine<Subject>(
    of subject: Subject, write: (Subject, inout LineWriter) -> Void,
    _ body: (UnsafeRawBufferPointer) -> Void
  ) {
    func make(_ memory: UnsafeMutableBufferPointer<UInt8>, mayBeCut: Bool) -> Bool {
      guard let base = memory.baseAddress else { return false }
      var line = LineWriter(base, capacity: memory.count)
      write(subject, &line)
      if line.cut > 0, !mayBeCut { return false }
      body(line.finish())
      return true
    }
    if withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 1_024, { make($0, mayBeCut: false) }) {
      return
    }
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: LineLimits.line) { _ = make($0, mayBeCut: true) }
  }
}

/// Members of a line.
extension ByteWriter {
  @inline(__always)
  mutating func member(_ key: StaticString, _ number: Int64) {
    self.key(key)
    integer(number)
  }

  /// - Parameter limit: The most bytes of the text; what is longer is cut.
  @inline(__always)
  mutating func member(_ key: StaticString, _ text: String, limit: Int) {
    self.key(key)
    string(text, limit: limit)
  }

  @inline(__always)
  mutating func member(_ key: StaticString, nanoseconds: Int64) {
    self.key(key)
    seconds(nanoseconds: nanoseconds)
  }

  /// `trace_id` and `span_id`
  mutating func trace(_ trace: TraceContext) {
    append(",\"trace_id\":\"")
    hexadecimal(trace.traceBits.high)
    hexadecimal(trace.traceBits.low)
    append("\",\"span_id\":\"")
    hexadecimal(trace.spanBits)
    append("\"")
  }
}

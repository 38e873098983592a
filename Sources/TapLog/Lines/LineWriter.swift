import TapCore

/// Writes one line of JSON, part by part, into memory of a limited size and never past its end. A part that
/// does not fit is left out as a whole, and how many were is the last thing that the line says.
///
/// The first piece that does not fit closes the writer until the end of the part. All of this is in this
/// module: the compiler inlines no function of another one that is not public, and a line has some 60 pieces.
struct LineWriter {
  private var start: UnsafeMutablePointer<UInt8>
  /// The end of what the parts may fill.
  private var limit: UnsafeMutablePointer<UInt8>
  /// Where the next piece goes.
  private var next: UnsafeMutablePointer<UInt8>
  /// The end of writing: `next` once a piece did not fit.
  private var end: UnsafeMutablePointer<UInt8>
  private var isClosed = false
  /// The line may move once, to memory of its own of the size of the longest.
  private var mayMove = false
  /// Parts that did not fit.
  private(set) var cut = 0
  /// Fields that were refused for their key.
  var refused = 0

  /// `dropped_attributes_count` is the name that the OpenTelemetry log data model has for it.
  private static let mark: StaticString = ",\"dropped_attributes_count\":"
  /// The mark, a number of at most six digits, and the end of the line.
  private static let tailLength = mark.utf8CodeUnitCount + 6 + 2

  /// - Parameter capacity: How much the parts may fill.
  private init(_ memory: UnsafeMutablePointer<UInt8>, capacity: Int) {
    start = memory
    limit = memory + capacity
    next = memory
    end = limit
  }

  /// What `body` writes into at most so many bytes.
  static func bytes(capacity: Int, _ body: (inout LineWriter) -> Void) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: capacity) { memory, count in
      guard let base = memory.baseAddress else { return }
      var writer = LineWriter(base, capacity: capacity)
      body(&writer)
      count = writer.next - base
    }
  }

  /// Makes a line and calls with it, newline included: on the stack while it fits into 1 KiB, the most that
  /// the compiler gives there, and in memory of its own from then on.
  @inline(__always)
  static func withLine(write: (inout LineWriter) -> Void, _ body: (UnsafeRawBufferPointer) -> Void) {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 1_024) { memory in
      guard let base = memory.baseAddress else { return }
      var line = LineWriter(base, capacity: memory.count - tailLength)
      line.mayMove = true
      write(&line)
      body(line.finish())
      if !line.mayMove { line.start.deallocate() }
    }
  }

  /// The bytes that are written.
  var count: Int { next - start }

  /// What all lines begin with. The severity begins at the same byte in each of them.
  @inline(__always)
  mutating func begin(_ time: Timestamp, _ severity: LogSeverity, event: StaticString) {
    append("{\"timestamp\":\"")
    timestamp(time)
    append("\",\"severity\":\"")
    append(severity.staticText)
    append("\",\"event\":\"")
    append(event)
    append("\"")
  }

  /// Writes a part of the line as a whole or not at all.
  @inline(__always)
  mutating func part(_ body: (inout LineWriter) -> Void) {
    let before = count
    body(&self)
    guard isClosed else { return }
    (next, end, isClosed) = (start + before, limit, false)
    cut += 1
  }

  /// Has a piece written that has so many bytes, if they fit.
  @inline(__always)
  mutating func reserve(_ count: Int, _ write: (UnsafeMutablePointer<UInt8>) -> Void) {
    guard count <= end - next || makeRoom(for: count) else { return }
    write(next)
    next += count
  }

  /// Moves the line to memory of its own with what is written, once; closes it if that is not enough. It is
  /// not written a second time: the app's rule may count what it is asked.
  @inline(never)
  private mutating func makeRoom(for piece: Int) -> Bool {
    if mayMove {
      let (memory, count) = (UnsafeMutablePointer<UInt8>.allocate(capacity: LineLimits.line), count)
      memory.initialize(from: start, count: count)
      (start, next, mayMove) = (memory, memory + count, false)
      limit = memory + LineLimits.line - Self.tailLength
      end = limit
    }
    if piece <= end - next { return true }
    (end, isClosed) = (next, true)
    return false
  }

  @inline(__always)
  mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
    reserve(bytes.count) { memory in
      if let source = bytes.baseAddress { memory.initialize(from: source, count: bytes.count) }
    }
  }

  private mutating func finish() -> UnsafeRawBufferPointer {
    end = limit + Self.tailLength
    if cut + refused > 0 {
      append(Self.mark)
      integer(UInt64(min(cut + refused, 999_999)))
    }
    append("}\n")
    return UnsafeRawBufferPointer(start: start, count: next - start)
  }
}

/// How long the parts of a line may be, in bytes before escaping unless said otherwise.
enum LineLimits {
  /// Names: of a client, of a host (RFC 1035: 253), a path template, the key of a field.
  static let name = 256
  /// A URL or a path, after redaction.
  static let url = 2_048
  /// A method that is not a known one.
  static let method = 64
  /// The text of a field that the app adds.
  static let value = 1_024
  /// The message of a line of the app's own.
  static let message = 8_192
  static let fields = 64
  static let line = 16_384
  /// Any text with its escapes, so that there is room for the rest of its line.
  static let escapedText = 10_240
}

// MARK: - Members: what is `nil` is left out

extension LineWriter {
  @inline(__always)
  mutating func member(_ key: StaticString, _ number: (some FixedWidthInteger)?, atLeast least: Int64 = .min)
  {
    guard let number = number.map({ Int64(clamping: $0) }), number >= least else { return }
    self.key(key)
    integer(number)
  }

  /// - Parameter limit: The most bytes of the text; what is longer is cut.
  @inline(__always)
  mutating func member(_ key: StaticString, _ text: String?, limit: Int = LineLimits.name) {
    guard let text else { return }
    self.key(key)
    string(text, limit: limit)
  }

  @inline(__always)
  mutating func member(_ key: StaticString, nanoseconds: Int64?) {
    guard let nanoseconds else { return }
    self.key(key)
    seconds(nanoseconds: nanoseconds)
  }

  /// `trace_id` and `span_id`
  @inline(__always)
  mutating func trace(_ trace: TraceContext?) {
    guard let trace else { return }
    append(",\"trace_id\":\"")
    hexadecimal(trace.traceBits.high)
    hexadecimal(trace.traceBits.low)
    append("\",\"span_id\":\"")
    hexadecimal(trace.spanBits)
    append("\"")
  }

  /// A further key, which needs no escaping: `,"key":`.
  @inline(__always)
  mutating func key(_ key: StaticString) {
    append(",\"")
    append(key)
    append("\":")
  }
}

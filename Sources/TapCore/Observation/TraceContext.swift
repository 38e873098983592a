/// The trace that a request belongs to, as its W3C `traceparent` header says, and the place of the request in it.
public struct TraceContext: Sendable, Hashable {
  /// The trace id as two numbers, never both 0.
  package let traceBits: (high: UInt64, low: UInt64)
  /// The span id as a number, never 0.
  package let spanBits: UInt64
  /// The `sampled` flag: the caller may have recorded this trace.
  public let isSampled: Bool

  /// 32 lowercase hexadecimal digits, not all zero.
  public var traceID: String { Self.text(of: 32, writeTrace) }
  /// 16 lowercase hexadecimal digits, not all zero.
  public var spanID: String { Self.text(of: 16) { HexadecimalDigits.write(spanBits, to: $0) } }

  /// Parses a `traceparent` value (W3C Trace Context, section 3.2). `nil` if it is not valid: such a header
  /// is to be ignored (section 3.2.2.3), never to be repaired.
  public init?(traceparent: String) {
    var text = traceparent
    guard let context = text.withUTF8(Self.parse) else { return nil }
    self = context
  }

  /// version "-" trace-id "-" parent-id "-" trace-flags: 2 + 32 + 16 + 2 digits and three dashes. A version above 00 may
  /// append more after a further dash; 00 may not, and ff is forbidden.
  private static func parse(_ bytes: UnsafeBufferPointer<UInt8>) -> TraceContext? {
    guard let base = bytes.baseAddress, bytes.count >= 55, base[2] == dash, base[35] == dash,
      base[52] == dash,
      let version = HexadecimalDigits.byte(base), version != 0xff,
      bytes.count == 55 || (version != 0 && base[55] == dash),
      let high = HexadecimalDigits.number(base + 3), let low = HexadecimalDigits.number(base + 19),
      high | low != 0,
      let span = HexadecimalDigits.number(base + 36), span != 0,
      let flags = HexadecimalDigits.byte(base + 53)
    else { return nil }
    return TraceContext((high, low), span: span, isSampled: flags & 1 == 1)
  }

  private init(_ trace: (high: UInt64, low: UInt64), span: UInt64, isSampled: Bool) {
    traceBits = trace
    spanBits = span
    self.isSampled = isSampled
  }

  /// The first span of a new trace. Its identifiers are random, but no secrets: who sees some may guess others.
  public static func random(isSampled: Bool = true) -> TraceContext {
    let identifiers = TraceIdentifiers.next()
    return TraceContext(identifiers.trace, span: identifiers.span, isSampled: isSampled)
  }

  /// A new span of the same trace: what a request that this span makes carries.
  public func child() -> TraceContext {
    TraceContext(traceBits, span: TraceIdentifiers.next().span, isSampled: isSampled)
  }

  /// The value of a `traceparent` header, version 00.
  public var traceparent: String {
    Self.text(of: 55) { text in
      (text[0], text[1], text[2]) = (Self.zero, Self.zero, Self.dash)
      writeTrace(to: text + 3)
      text[35] = Self.dash
      HexadecimalDigits.write(spanBits, to: text + 36)
      (text[52], text[53], text[54]) = (Self.dash, Self.zero, isSampled ? Self.zero + 1 : Self.zero)
    }
  }

  @inline(__always)
  private func writeTrace(to text: UnsafeMutablePointer<UInt8>) {
    HexadecimalDigits.write(traceBits.high, to: text)
    HexadecimalDigits.write(traceBits.low, to: text + 16)
  }

  @inline(__always)
  private static func text(of length: Int, _ write: (UnsafeMutablePointer<UInt8>) -> Void) -> String {
    String(unsafeUninitializedCapacity: length) { memory in
      guard let base = memory.baseAddress, memory.count >= length else { return 0 }
      write(base)
      return length
    }
  }

  private static let dash = UInt8(ascii: "-")
  private static let zero = UInt8(ascii: "0")

  /// Whether two requests are at the same place of the same trace.
  public static func == (lhs: TraceContext, rhs: TraceContext) -> Bool {
    lhs.traceBits == rhs.traceBits && lhs.spanBits == rhs.spanBits && lhs.isSampled == rhs.isSampled
  }

  /// Hashes both identifiers and the flag.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(traceBits.high)
    hasher.combine(traceBits.low)
    hasher.combine(spanBits)
    hasher.combine(isSampled)
  }
}

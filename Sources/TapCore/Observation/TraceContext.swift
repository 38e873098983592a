/// The trace that a request belongs to, as its W3C `traceparent` header says.
public struct TraceContext: Sendable, Hashable {
  /// 32 lowercase hexadecimal digits, not all zero.
  public let traceID: String
  /// 16 lowercase hexadecimal digits, not all zero.
  public let spanID: String
  /// The `sampled` flag: the caller may have recorded this trace.
  public let isSampled: Bool

  /// Parses a `traceparent` value (W3C Trace Context, section 3.2). `nil` if it is not valid: such a header
  /// is to be ignored (section 3.2.2.3), never to be repaired.
  public init?(traceparent: String) {
    // version "-" trace-id "-" parent-id "-" trace-flags: 2 + 32 + 16 + 2 digits and three dashes. A version
    // above 00 may append more after a further dash; 00 may not, and ff is forbidden.
    let bytes = Array(traceparent.utf8.prefix(56))
    guard bytes.count >= 55, bytes[2] == Self.dash, bytes[35] == Self.dash, bytes[52] == Self.dash,
      let version = Self.digits(bytes[0..<2]), version != "ff",
      bytes.count == 55 || (version != "00" && bytes[55] == Self.dash),
      let traceID = Self.digits(bytes[3..<35]), traceID.utf8.contains(where: { $0 != Self.zero }),
      let spanID = Self.digits(bytes[36..<52]), spanID.utf8.contains(where: { $0 != Self.zero }),
      let flags = Self.digits(bytes[53..<55]), let flagBits = UInt8(flags, radix: 16)
    else { return nil }
    self.init(traceID: traceID, spanID: spanID, isSampled: flagBits & 1 == 1)
  }

  private init(traceID: String, spanID: String, isSampled: Bool) {
    self.traceID = traceID
    self.spanID = spanID
    self.isSampled = isSampled
  }

  /// The first span of a new trace, from the system's random numbers.
  public static func random(isSampled: Bool = true) -> TraceContext {
    let traceID = text(UInt64.random(in: 1 ... .max)) + text(UInt64.random(in: 0 ... .max))
    return TraceContext(traceID: traceID, spanID: newSpanID(), isSampled: isSampled)
  }

  /// A new span of the same trace: what a request that this span makes carries.
  public func child() -> TraceContext {
    TraceContext(traceID: traceID, spanID: Self.newSpanID(), isSampled: isSampled)
  }

  /// The value of a `traceparent` header, version 00.
  public var traceparent: String { "00-\(traceID)-\(spanID)-\(isSampled ? "01" : "00")" }

  private static let dash = UInt8(ascii: "-")
  private static let zero = UInt8(ascii: "0")

  private static func newSpanID() -> String { text(UInt64.random(in: 1 ... .max)) }

  /// 16 digits.
  private static func text(_ number: UInt64) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
  }

  /// The text of lowercase hexadecimal digits, or `nil` if a byte is something else.
  private static func digits(_ bytes: ArraySlice<UInt8>) -> String? {
    let valid = bytes.allSatisfy {
      (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
        || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
    }
    return valid ? String(decoding: bytes, as: UTF8.self) : nil
  }
}

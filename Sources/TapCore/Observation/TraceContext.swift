import Synchronization

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

  /// The first span of a new trace. Its identifiers are random but not secret: some of them allow a guess at others.
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

extension TraceContext {
  /// The trace of the request that the current Swift task serves.
  ///
  /// A middleware sets it for what comes behind it, so that the requests which are made there belong to the same
  /// trace:
  ///
  /// ```swift
  /// let response = try await TraceContext.$current.withValue(inbound.trace) { try await next(request) }
  /// ```
  ///
  /// Child tasks inherit it; detached tasks and queues do not.
  @TaskLocal public static var current: TraceContext?
}

/// Makes the identifiers of traces and spans.
///
/// They have to be random, not secret (W3C Trace Context, section 3.2.2.3): a call to the system for each number takes
/// longer than to record the whole request. Instead, a counter is mixed (``SplitMix64``) from three seeds that the
/// system gives once: no number comes twice in a process, and two processes share a trace id only if their seeds agree
/// in 128 bits.
private enum TraceIdentifiers {
  /// A trace id, not all zero, and a span id, not zero.
  static func next() -> (trace: (high: UInt64, low: UInt64), span: UInt64) {
    let number = count.wrappingAdd(SplitMix64.step, ordering: .relaxed).newValue
    return (
      (SplitMix64.mix(number &+ seeds.high), max(1, SplitMix64.mix(number &+ seeds.low))),
      max(1, SplitMix64.mix(number &+ seeds.span))
    )
  }

  private static let count = Atomic<UInt64>(0)
  private static let seeds = (
    high: UInt64.random(in: 0 ... .max), low: UInt64.random(in: 0 ... .max),
    span: UInt64.random(in: 0 ... .max)
  )
}

/// Makes random-looking numbers of the numbers of a counter (Steele, Lea and Flood 2014, "Fast splittable pseudorandom
/// number generators"): a bijection of all 64 bits.
package enum SplitMix64 {
  /// The step of the counter.
  package static var step: UInt64 { 0x9e37_79b9_7f4a_7c15 }

  package static func mix(_ number: UInt64) -> UInt64 {
    var mixed = number
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }
}

/// Numbers as the lowercase hexadecimal digits of W3C Trace Context, section 3.2.
enum HexadecimalDigits {
  /// The number of two digits, or `nil` if one is something else.
  @inline(__always)
  static func byte(_ digits: UnsafePointer<UInt8>) -> UInt8? {
    // Eight digits are read at once; these are the last of them.
    number(of: 0x3030_3030_3030_0000 | UInt64(digits[0]) << 8 | UInt64(digits[1])).map(UInt8.init)
  }

  /// The number of 16 digits, or `nil` if one is something else.
  @inline(__always)
  static func number(_ digits: UnsafePointer<UInt8>) -> UInt64? {
    let digits = UnsafeRawPointer(digits)
    guard let high = number(of: UInt64(bigEndian: digits.loadUnaligned(as: UInt64.self))),
      let low = number(of: UInt64(bigEndian: digits.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
    else { return nil }
    return UInt64(high) << 32 | UInt64(low)
  }

  /// The number of eight digits, the first in the highest byte. A letter is nine more than its lower half. Text that is not
  /// digits gives a number with other digits.
  @inline(__always)
  private static func number(of text: UInt64) -> UInt32? {
    let letters = text >> 6 & 0x0101_0101_0101_0101
    var halves = (text & 0x0f0f_0f0f_0f0f_0f0f) &+ letters &* 9
    halves = (halves | halves >> 4) & 0x00ff_00ff_00ff_00ff
    halves = (halves | halves >> 8) & 0x0000_ffff_0000_ffff
    let number = UInt32(truncatingIfNeeded: halves | halves >> 16)
    return digits(number) == text ? number : nil
  }

  /// Writes all 16 digits of a number.
  @inline(__always)
  static func write(_ number: UInt64, to target: UnsafeMutablePointer<UInt8>) {
    let target = UnsafeMutableRawPointer(target)
    target.storeBytes(of: digits(UInt32(truncatingIfNeeded: number >> 32)).bigEndian, as: UInt64.self)
    target.storeBytes(
      of: digits(UInt32(truncatingIfNeeded: number)).bigEndian, toByteOffset: 8, as: UInt64.self)
  }

  /// Eight digits at once, the first in the highest byte: each half of a byte moves into a byte of its own, and becomes its
  /// character, which for ten and above is 39 further on.
  @inline(__always)
  private static func digits(_ number: UInt32) -> UInt64 {
    var halves = UInt64(number)
    halves = (halves | halves << 16) & 0x0000_ffff_0000_ffff
    halves = (halves | halves << 8) & 0x00ff_00ff_00ff_00ff
    halves = (halves | halves << 4) & 0x0f0f_0f0f_0f0f_0f0f
    let letters = ((halves + 0x0606_0606_0606_0606) >> 4) & 0x0101_0101_0101_0101
    return halves + 0x3030_3030_3030_3030 + letters * 39
  }
}

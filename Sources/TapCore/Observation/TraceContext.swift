import Synchronization

/// The trace that a request belongs to, and the request's place in it, as in the W3C headers `traceparent`
/// and `tracestate`.
public struct TraceContext: Sendable, Equatable {
  /// The trace id as two numbers, never both 0.
  package struct TraceBits: Hashable, Sendable {
    package let high, low: UInt64
  }

  package let traceBits: TraceBits
  /// The span id as a number, never 0.
  package let spanBits: UInt64
  /// Those that are passed on: `sampled` and `random` (level 2 of the specification, section 3.2.2.5).
  private let flags: UInt8
  /// What tracing systems say of the trace: the value of the header, to be sent as it came (section 3.3).
  public let tracestate: String?
  /// A tracer's span, the record of a served request, or a ``SpanWithin`` for both. One reference, because a
  /// trace is copied often. Equality ignores it.
  private var object: (any AnyObject & Sendable)?

  /// The span of a ``RequestTracer`` that has these ids, if one has made it. Equality ignores it.
  public var span: (any AnyObject & Sendable)? {
    guard let object, !(object is RequestRecord) else { return nil }
    return (object as? SpanWithin)?.span ?? object
  }

  /// The served request of which this is the trace, or within which a request with this trace is made. Its
  /// own record has it without.
  package var served: RequestRecord? {
    guard let object else { return nil }
    return object as? RequestRecord ?? (object as? SpanWithin)?.served
  }

  /// The `sampled` flag: the caller may have recorded this trace.
  public var isSampled: Bool { flags & Self.sampled != 0 }
  private static var sampled: UInt8 { 1 }

  /// 32 lowercase hexadecimal digits, not all zero.
  public var traceID: String {
    HexadecimalDigits.text(of: traceBits.high) + HexadecimalDigits.text(of: traceBits.low)
  }
  /// 16 lowercase hexadecimal digits, not all zero.
  public var spanID: String { HexadecimalDigits.text(of: spanBits) }

  /// Parses the headers of a request (W3C Trace Context, sections 3.2 and 3.3). `nil` if `traceparent` is
  /// invalid: such a header must be ignored (section 3.2.2.3).
  ///
  /// - Parameters:
  ///   - traceparent: The value of the header.
  ///   - tracestate: The value of that header. One of other than visible ASCII characters and spaces, or
  ///     longer than 512, is ignored.
  ///   - span: The span that has these ids, for a ``RequestTracer`` that has injected them.
  public init?(traceparent: String, tracestate: String? = nil, span: (any AnyObject & Sendable)? = nil) {
    var text = traceparent
    guard let context = text.withUTF8(Self.parse) else { return nil }
    // What is sent must be no other header.
    let isValid = tracestate.map { state in
      (1...512).contains(state.utf8.count) && state.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }
    self.init(
      context.traceBits, span: context.spanBits, flags: context.flags,
      tracestate: isValid == true ? tracestate : nil, of: span)
  }

  /// version "-" trace-id "-" parent-id "-" trace-flags: 2 + 32 + 16 + 2 digits and three dashes. A version
  /// above 00 may append more after a further dash; 00 may not, and ff is forbidden.
  private static func parse(_ bytes: UnsafeBufferPointer<UInt8>) -> TraceContext? {
    guard bytes.count >= 55, [2, 35, 52].allSatisfy({ bytes[$0] == UInt8(ascii: "-") }),
      let version = HexadecimalDigits.number(bytes[..<2]), version != 0xff,
      bytes.count == 55 || (version != 0 && bytes[55] == UInt8(ascii: "-")),
      let high = HexadecimalDigits.number(bytes[3..<19]), let low = HexadecimalDigits.number(bytes[19..<35]),
      high | low != 0, let span = HexadecimalDigits.number(bytes[36..<52]), span != 0,
      let flags = HexadecimalDigits.number(bytes[53..<55])
    else { return nil }
    return TraceContext(TraceBits(high: high, low: low), span: span, flags: UInt8(flags & 3))
  }

  /// Whether the process has made any. Without one, none is ``current``: then a request reads this flag
  /// instead of the task's values.
  private static let isInUse = Atomic(false)

  private init(
    _ trace: TraceBits, span: UInt64, flags: UInt8, tracestate: String? = nil,
    of object: (any AnyObject & Sendable)? = nil
  ) {
    (traceBits, spanBits, self.flags) = (trace, span, flags)
    (self.tracestate, self.object) = (tracestate, object)
    if !Self.isInUse.load(ordering: .relaxed) { Self.isInUse.store(true, ordering: .relaxed) }
  }

  /// The ids alone, as numbers that were written down.
  init(_ trace: TraceBits, span: UInt64) { self.init(trace, span: span, flags: 0) }

  /// The same, as that of a served request or of a call within it.
  package consuming func within(_ served: RequestRecord?) -> TraceContext {
    object = if let served, let span { SpanWithin(span: span, served: served) } else { served ?? span }
    return self
  }

  /// The ids and flags alone: what outlives the request keeps no object of a tracer's, and no request.
  package var withoutSpan: TraceContext { TraceContext(traceBits, span: spanBits, flags: flags) }

  /// Whether two contexts are the same in a request's headers.
  public static func == (one: TraceContext, other: TraceContext) -> Bool {
    one.traceBits == other.traceBits && one.spanBits == other.spanBits && one.flags == other.flags
      && one.tracestate == other.tracestate
  }

  /// The first span of a new trace. Its identifiers are random but not secret: others can be guessed from
  /// some of them.
  ///
  /// - Parameter isSampled: Whether the caller records this trace in a tracing system. `false` by default:
  ///   services that record only sampled traces then do not record this one.
  public static func random(isSampled: Bool = false) -> TraceContext {
    let identifiers = TraceIdentifiers.next()
    return TraceContext(identifiers.trace, span: identifiers.span, flags: isSampled ? sampled : 0)
  }

  /// The first span of a new trace, which is sampled by its id, at a rate from 0 to 1.
  package static func random(samplingRate rate: Double) -> TraceContext {
    let trace = random()
    let isSampled = isKept(trace.randomness, at: rate)
    return TraceContext(trace.traceBits, span: trace.spanBits, flags: isSampled ? sampled : 0)
  }

  /// The last 56 bits of the trace id: those that are random (W3C Trace Context Level 2, section 3.2.2.5).
  package var randomness: UInt64 { traceBits.low & 0x00ff_ffff_ffff_ffff }

  /// Whether 56 random bits are kept at a rate from 0 to 1, as in OpenTelemetry's consistent probability
  /// sampling: at or above the threshold, so that a higher rate keeps all that a lower one keeps. `nan` keeps
  /// nothing.
  package static func isKept(_ randomness: UInt64, at rate: Double) -> Bool {
    rate >= 1 || (rate > 0 && randomness >= UInt64((1 - rate) * 0x1p56))
  }

  /// A new span of the same trace, for a request that this span makes: with the same flags and `tracestate`.
  public func child() -> TraceContext {
    TraceContext(
      traceBits, span: TraceIdentifiers.next().span, flags: flags, tracestate: tracestate, of: served)
  }

  /// The value of a `traceparent` header, version 00.
  public var traceparent: String {
    // Not an interpolation, which takes ten times as long.
    String(unsafeUninitializedCapacity: 55) { memory in
      guard let base = memory.baseAddress, memory.count >= 55 else { return 0 }
      memory.initialize(repeating: UInt8(ascii: "-"))
      (base[0], base[1]) = (UInt8(ascii: "0"), UInt8(ascii: "0"))
      HexadecimalDigits.write(traceBits.high, to: base + 3)
      HexadecimalDigits.write(traceBits.low, to: base + 19)
      HexadecimalDigits.write(spanBits, to: base + 36)
      (base[53], base[54]) = (UInt8(ascii: "0"), UInt8(ascii: "0") + flags)
      return 55
    }
  }
}

extension TraceContext {
  /// The trace of the request that the current Swift task serves. Child tasks inherit it; detached tasks and
  /// queues do not. A middleware sets it while the rest of the app serves the request:
  ///
  ///     let response = try await TraceContext.$current.withValue(inbound.trace) { try await next(request) }
  @TaskLocal public static var current: TraceContext?

  /// The trace of a request that the app makes now: a span of the tap's ``RequestTracer``, if there is one;
  /// without, a child of ``current`` or of what ``findCurrent(_:)`` finds, or a new trace, which is sampled
  /// as the newest tap with a `Tap.Configuration.traceSamplingRate` has it.
  public static func next() -> TraceContext {
    let (tracer, findTrace) = NewestTracing.sources
    let parent = current ?? findTrace?()
    return tracer?.beginClientSpan().within(parent?.served) ?? parent?.child()
      ?? .random(samplingRate: NewestTracing.samplingRate)
  }

  /// Finds the trace of the current work where ``current`` has none, for all taps of the process: an adapter
  /// knows of another library's context. The last call is in effect.
  ///
  /// - Parameter find: Called for each request that is made outside ``current``, on the app's thread and
  ///   under locks of Foundation's: it must not wait, nor make a request.
  public static func findCurrent(_ find: @escaping @Sendable () -> TraceContext?) {
    NewestTracing.find(by: find)
  }

  /// The trace of a request that was made within another one.
  package static func next(in parent: TraceContext) -> TraceContext {
    NewestTracing.sources.tracer?.beginClientSpan(in: parent).within(parent.served) ?? parent.child()
  }

  /// The trace of a request that is made here: the tracer's, ``current``, or what an adapter finds; `nil`
  /// without any.
  package static var ofCurrentWork: TraceContext? {
    let (tracer, findTrace) = NewestTracing.sources
    let found = (isInUse.load(ordering: .relaxed) ? current : nil) ?? findTrace?()
    return tracer.map { $0.currentTrace?.within(found?.served) } ?? found
  }

  /// The trace of a request that is made here, within the served request of this task, or else that of the
  /// trace.
  var madeHere: TraceContext {
    let found = Self.current ?? NewestTracing.sources.findTrace?()
    guard let served = found?.served, served !== self.served else { return self }
    return within(served)
  }
}

/// A span of a request within a served one.
private final class SpanWithin: Sendable {
  let span: any AnyObject & Sendable
  let served: RequestRecord

  init(span: any AnyObject & Sendable, served: RequestRecord) { (self.span, self.served) = (span, served) }
}

/// Makes the identifiers of traces and spans: random, not secret (W3C Trace Context, section 3.2.2.3).
///
/// A system call for each number would take longer than recording the whole request. Instead, a counter is
/// mixed (``SplitMix64``) with three seeds that the system gives once: no number comes twice in a process.
enum TraceIdentifiers {
  /// A trace id, not all zero, and a span id, not zero.
  static func next() -> (trace: TraceContext.TraceBits, span: UInt64) {
    let number = count.wrappingAdd(SplitMix64.step, ordering: .relaxed).newValue
    return (
      .init(high: SplitMix64.mix(number &+ seeds.high), low: max(1, SplitMix64.mix(number &+ seeds.low))),
      max(1, SplitMix64.mix(number &+ seeds.span))
    )
  }

  private static let count = Atomic<UInt64>(0)
  private static let seeds = (
    high: UInt64.random(in: 0 ... .max), low: UInt64.random(in: 0 ... .max),
    span: UInt64.random(in: 0 ... .max)
  )
}

/// Makes random-looking numbers from a counter (Steele, Lea and Flood 2014, "Fast splittable pseudorandom
/// number generators"): a bijection of all 64 bits.
package enum SplitMix64 {
  package static var step: UInt64 { 0x9e37_79b9_7f4a_7c15 }

  package static func mix(_ number: UInt64) -> UInt64 {
    var mixed = number
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }
}

import Synchronization

/// Makes the identifiers of traces and spans.
///
/// They are to be random, not to be secret (W3C Trace Context, section 3.2.2.3): a call to the system for each number
/// takes longer than to record the whole request. A counter is mixed instead (``SplitMix64``)
/// from three seeds that the system gives once: no number comes twice in a process, and two processes share a trace id
/// only if their seeds agree in 128 bits.
enum TraceIdentifiers {
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

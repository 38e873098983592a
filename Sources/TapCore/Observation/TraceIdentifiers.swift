import Synchronization

/// Makes the identifiers of traces and spans.
///
/// They have to be random, not secret (W3C Trace Context, section 3.2.2.3). A system call for each number
/// would take longer than recording the whole request. Instead, a counter is mixed (``SplitMix64``) with
/// three seeds that the system gives once: no number comes twice in a process, and two processes share a
/// trace id only if 128 bits of their seeds agree.
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

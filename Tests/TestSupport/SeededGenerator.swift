/// Random numbers that are the same in every run (``SplitMix64``).
package struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  package init(seed: some BinaryInteger) { state = UInt64(truncatingIfNeeded: seed) }

  package mutating func next() -> UInt64 {
    state &+= SplitMix64.step
    return SplitMix64.mix(state)
  }
}

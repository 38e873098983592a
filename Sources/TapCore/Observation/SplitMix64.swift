/// Makes numbers that look random of numbers that are counted (Steele, Lea and Flood 2014, "Fast splittable pseudorandom
/// number generators"): different ones of different ones, for all 64 bits.
package enum SplitMix64 {
  /// How far to count from one number to the next.
  package static var step: UInt64 { 0x9e37_79b9_7f4a_7c15 }

  package static func mix(_ number: UInt64) -> UInt64 {
    var mixed = number
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }
}

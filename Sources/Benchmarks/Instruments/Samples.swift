import Foundation

/// Values to record: the same in every run, and shaped like durations.
enum Samples {
  /// 65,536 lognormal values around 50 ms, by the Box-Muller transform of a seeded generator.
  static let durations: [Double] = lognormal(count: 65_536, median: 0.05, sigma: 1)

  /// Lognormal values.
  static func lognormal(count: Int, median: Double, sigma: Double) -> [Double] {
    var state: UInt64 = 0x9e37_79b9_7f4a_7c15
    // xorshift64* (Vigna 2016): short, and good enough here.
    func uniform() -> Double {
      state ^= state >> 12
      state ^= state << 25
      state ^= state >> 27
      return (Double((state &* 0x2545_f491_4f6c_dd1d) >> 11) + 0.5) * 0x1p-53
    }
    return (0..<count).map { _ in
      median * exp(sigma * (-2 * log(uniform())).squareRoot() * cos(2 * .pi * uniform()))
    }
  }
}

import TestSupport

@testable import TapCore

struct NativeScaleTests {
  private let scale = NativeScale()

  @Test(arguments: NativeScale.schemas)
  func `a value lies within its bucket`(schema: Int) {
    var generator = SeededGenerator(seed: schema)
    for _ in 0..<2_000 {
      let value = Double(
        sign: .plus, exponent: Int.random(in: -127...1_022, using: &generator),
        significand: Double.random(in: 1..<2, using: &generator))
      let bucket = scale.bucket(of: value) >> (8 - schema)
      // The bounds are rounded: a value next to one may be on either side of it.
      #expect(NativeScale.upperBound(of: bucket, schema: schema) * (1 + 1e-13) >= value)
      #expect(NativeScale.upperBound(of: bucket - 1, schema: schema) * (1 - 1e-13) < value)
    }
  }

  @Test(arguments: [-126, -10, -1, 0, 1, 10, 1_023])
  func `powers of two are upper bounds`(exponent: Int) {
    let value = Double(sign: .plus, exponent: exponent, significand: 1)
    #expect(scale.bucket(of: value) == exponent * 256 - 1)
    #expect(scale.bucket(of: value.nextUp) == exponent * 256)
    #expect(NativeScale.upperBound(of: exponent * 256 - 1, schema: 8) == value)
  }

  @Test func `a bound within an octave belongs to the bucket below it`() {
    for number in 1..<256 {
      let bound = System.powerOfTwo(Double(number) / 256)
      #expect(scale.bucket(of: bound) == number - 1)
      #expect(scale.bucket(of: bound.nextUp) == number)
    }
  }

  @Test func `extremes have a bucket`() {
    #expect(scale.bucket(of: .greatestFiniteMagnitude) == 1_024 * 256 - 1)
    for value in [0, Double.leastNonzeroMagnitude, .infinity, .nan] { _ = scale.bucket(of: value) }
  }
}

import Foundation
import TapCore
import Testing

@testable import TapLog

@Suite struct JSONWriterTests {
  private func written(capacity: Int = 8_192, _ body: (inout JSONWriter) -> Void) -> String {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: capacity) { memory in
      guard let base = memory.baseAddress else { return "" }
      var json = JSONWriter(base, capacity: memory.count)
      body(&json)
      return String(decoding: json.bytes, as: UTF8.self)
    }
  }

  private func escaped(_ bytes: [UInt8]) -> String {
    bytes.withUnsafeBufferPointer { buffer in written { $0.content(buffer) } }
  }

  @Test
  func `escapes what JSON and readers of lines cannot take`() {
    #expect(
      escaped(Array("a\"\\/\u{8}\t\n\u{C}\r\u{0}\u{1F}\u{7F}b".utf8))
        == #"a\"\\/\b\t\n\f\r\u0000\u001f\u007fb"#)
    #expect(
      escaped(Array("\u{80}\u{9F}\u{A0}\u{2027}\u{2028}\u{2029}".utf8))
        == "\\u0080\\u009f\u{A0}\u{2027}\\u2028\\u2029")
    #expect(
      escaped(Array("plain text, long enough for words ü 🎈".utf8)) == "plain text, long enough for words ü 🎈")
  }

  @Test(arguments: 1...24)
  func `finds every special byte at every place of a text`(length: Int) throws {
    for place in 0..<length {
      for byte in UInt8.min...0x7F {
        var bytes = [UInt8](repeating: UInt8(ascii: "a"), count: length)
        bytes[place] = byte
        let text = escaped(bytes)
        let object = try JSONSerialization.jsonObject(with: Data("[\"\(text)\"]".utf8)) as? [String]
        #expect(object == [String(decoding: bytes, as: UTF8.self)])
        #expect(
          (text.utf8.count == length) == (byte >= 0x20 && byte != 0x22 && byte != 0x5C && byte != 0x7F))
      }
    }
  }

  @Test
  func `repairs ill-formed UTF-8 as the standard library does`() {
    var generator = SystemRandomNumberGenerator()
    // Bytes that begin, continue and break sequences; none that is escaped.
    let choice: [UInt8] = [
      0x41, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC3, 0xDF, 0xE0, 0xE1, 0xED, 0xEF, 0xF0, 0xF1,
      0xF4,
      0xF5, 0xFF,
    ]
    for _ in 0..<20_000 {
      let bytes = (0..<Int.random(in: 1...12, using: &generator)).map { _ in
        choice.randomElement(using: &generator) ?? 0
      }
      let expected = String(decoding: bytes, as: UTF8.self)
      #expect(escaped(bytes) == expected)
      if escaped(bytes) != expected { return }
    }
  }

  @Test(arguments: 0...9)
  func `closes where something does not fit, and opens again`(capacity: Int) {
    let text = written(capacity: capacity) { json in
      json.append("ab")
      let mark = json.count
      json.append("cdefg")
      json.append("h")
      if json.isFull { json.rollBack(to: mark) }
      json.append("!")
    }
    let expected = ["", "!", "ab", "ab!", "ab!", "ab!", "ab!", "ab!", "abcdefgh", "abcdefgh!"]
    #expect(text == expected[capacity])
  }

  @Test(
    arguments: [
      (Duration.zero, "0"), (.nanoseconds(1), "0.000000001"), (.milliseconds(12_345), "12.345"),
      (.seconds(1), "1"), (.nanoseconds(100_000_000), "0.1"), (.seconds(-1), "0"),
      (.seconds(Int64.max), "9223372036.854775807"),
    ])
  func `writes seconds exactly`(duration: Duration, expected: String) {
    #expect(written { $0.seconds(nanoseconds: duration.nanoseconds) } == expected)
  }

  @Test(
    arguments: [
      (0.1, "0.1"), (-0.0, "-0.0"), (1e300, "1e+300"), (.leastNonzeroMagnitude, "5e-324"), (.nan, "\"NaN\""),
      (-.infinity, "\"-Infinity\""),
    ])
  func `writes numbers so that they read back`(value: Double, expected: String) {
    #expect(written { $0.double(value) } == expected)
  }

  @Test(arguments: [Int64.min, -10, -1, 0, 9, 10, 99, 100, 1_000_000_007, .max])
  func `writes integers`(value: Int64) {
    #expect(written { $0.integer(value) } == "\(value)")
  }

  @Test
  func `writes the time as Foundation does, from the year 1678 to 2262`() {
    var generator = SystemRandomNumberGenerator()
    let style = Date.ISO8601FormatStyle(timeZone: .gmt).dateTimeSeparator(.standard)
    for _ in 0..<2_000 {
      let seconds = Int64.random(in: -9_214_560_000...9_214_560_000, using: &generator)
      let nanoseconds = Int64.random(in: 0..<1_000_000_000, using: &generator)
      let text = written {
        $0.timestamp(Timestamp(nanosecondsSinceEpoch: seconds * 1_000_000_000 + nanoseconds))
      }
      let day = Date(timeIntervalSince1970: Double(seconds)).formatted(style).dropLast()
      let digits = "\(1_000_000 + nanoseconds / 1_000)".dropFirst()
      // Foundation's calendar is Julian before 1582 only; all of these are Gregorian.
      #expect(text == "\(day).\(digits)Z")
      if text != "\(day).\(digits)Z" { return }
    }
  }
}

import TestSupport

@testable import TapLog

@Suite struct LineWriterTests {
  private func written(capacity: Int = 8_192, _ body: (inout LineWriter) -> Void) -> String {
    String(decoding: LineWriter.bytes(capacity: capacity, body), as: UTF8.self)
  }

  /// A whole text as a JSON string.
  private func json(_ text: String) -> String {
    written(capacity: 6 * text.utf8.count + 2) { $0.string(text, limit: .max) }
  }

  @Test func `escapes what JSON and readers of lines cannot take`() {
    let controls = json("a\"\\/\u{8}\t\n\u{C}\r\u{0}\u{1F}\u{7F}b\u{80}\u{9F}\u{A0}\u{2028}\u{2029}")
    #expect(
      controls == #""a\"\\/\b\t\n\f\r\u0000\u001f\u007fb\u0080\u009f"# + "\u{A0}" + #"\u2028\u2029""#)
    let plain = "plain text, long enough for words ü 🎈\u{2027}"
    #expect(json(plain) == "\"\(plain)\"")
  }

  @Test func `writes any text so that it reads back, on one line`() throws {
    var generator = SeededGenerator(seed: 1)
    // What is escaped, its neighbours, and bytes that begin, continue and break sequences.
    let pieces: [[UInt8]] = [
      [0x41], [0x22], [0x5C], [0x00], [0x0A], [0x1F], [0x7F], [0xC2, 0x80], [0xC2, 0x9F], [0xC2, 0xA0],
      [0xC3, 0x80], [0xE2, 0x80, 0xA7], [0xE2, 0x80, 0xA8], [0xE2, 0x80, 0xA9], [0xE2, 0x80, 0xAA],
      [0xE2, 0x82, 0xAC], [0xF0, 0x9F, 0x8E, 0x88], [0xC2], [0xE2, 0x80], [0x80], [0xFF],
    ]
    for _ in 0..<Extent.of(1_000, extensive: 20_000) {
      let bytes = (0..<Int.random(in: 1...24, using: &generator)).flatMap { _ in
        pieces.randomElement(using: &generator) ?? []
      }
      let text = String(decoding: bytes, as: UTF8.self)
      let json = self.json(text)
      let read = try JSONSerialization.jsonObject(with: Data("[\(json)]".utf8)) as? [String]
      let isOneLine = json.unicodeScalars.allSatisfy { scalar in
        ![.control, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory)
      }
      try #require(read == [text] && isOneLine)
    }
  }

  @Test func `cuts a text between two characters`() {
    let text = "aü€🎈b\u{2028}"
    let ends = [1, 3, 6, 10, 11, 14]
    let cut = (0...12).map { limit in written { $0.string(text, limit: limit) } }
    #expect(cut == (0...12).map { limit in "\"\(text.prefix(ends.count { $0 <= limit }))…\"" })
  }

  @Test func `leaves out what does not fit, and goes on`() {
    let texts = (0...9).map { capacity in
      written(capacity: capacity) { line in
        line.part { $0.append("ab") }
        line.part {
          $0.append("cdefg")
          $0.append("h")
        }
        line.part { $0.append("!") }
      }
    }
    #expect(texts == ["", "!", "ab", "ab!", "ab!", "ab!", "ab!", "ab!", "abcdefgh", "abcdefgh!"])
  }

  @Test func `tells how many parts are missing, up to a number that always has room`() {
    for (count, told) in [(0, 0), (1, 1), (999_999, 999_999), (1_000_000, 999_999), (.max, 999_999)] {
      let end = told == 0 ? "" : ",\"dropped_attributes_count\":\(told)"
      LineWriter.withLine { line in
        line.append("{")
        line.refused = count
      } _: { line in
        #expect(String(decoding: line, as: UTF8.self) == "{\(end)}\n")
      }
    }
  }

  @Test func `writes each part as a whole or not at all`() {
    let pieces: [(inout LineWriter) -> Void] = [
      { $0.integer(Int64.min) }, { $0.integer(UInt64(7)) },
      { $0.seconds(nanoseconds: 1_234_567_890_123_456_789) },
      { $0.timestamp(Timestamp(nanosecondsSinceEpoch: 0)) }, { $0.string("abcdefghijklm\u{7F}", limit: 99) },
      { $0.key("0123456789") }, { $0.hexadecimal(.max) },
    ]
    for piece in pieces {
      let whole = written(capacity: 64, piece)
      let texts = (0...40).map { capacity in written(capacity: capacity) { line in line.part(piece) } }
      #expect(texts == (0...40).map { $0 < whole.utf8.count ? "" : whole })
    }
  }

  @Test func `writes numbers exactly, so that they read back`() {
    let seconds: [(Duration, String)] = [
      (.zero, "0"), (.nanoseconds(1), "0.000000001"), (.milliseconds(12_345), "12.345"), (.seconds(1), "1"),
      (.nanoseconds(100_000_000), "0.1"), (.milliseconds(1_005), "1.005"), (.seconds(-1), "0"),
      (.nanoseconds(999_999_999), "0.999999999"), (.seconds(Int64.max), "9223372036.854775807"),
    ]
    #expect(seconds.map { row in written { $0.seconds(nanoseconds: row.0.nanoseconds) } } == seconds.map(\.1))
    let doubles: [(Double, String)] = [
      (0.1, "0.1"), (-0.0, "-0.0"), (1e300, "1e+300"), (.leastNonzeroMagnitude, "5e-324"),
      (.nan, "\"NaN\""), (.infinity, "\"Infinity\""), (-.infinity, "\"-Infinity\""),
    ]
    #expect(doubles.map { row in written { $0.double(row.0) } } == doubles.map(\.1))
    let integers: [Int64] = [
      .min, -10, -1, 0, 9, 10, 99, 100, 99_999_999, 100_000_000, 1_000_000_007, .max,
    ]
    #expect(integers.map { number in written { $0.integer(number) } } == integers.map { "\($0)" })
    #expect(written { $0.integer(UInt64.max) } == "18446744073709551615")
  }

  @Test func `writes the time as Foundation does, from the year 1678 to 2262`() {
    var generator = SeededGenerator(seed: 1)
    let style = Date.ISO8601FormatStyle(timeZone: .gmt).dateTimeSeparator(.standard)
    let times = (0..<Extent.of(100, extensive: 2_000)).map { _ in
      (
        seconds: Int64.random(in: -9_214_560_000...9_214_560_000, using: &generator),
        nanoseconds: Int64.random(in: 0..<1_000_000_000, using: &generator)
      )
    }
    let texts = times.map { seconds, nanoseconds in
      written { $0.timestamp(Timestamp(nanosecondsSinceEpoch: seconds * 1_000_000_000 + nanoseconds)) }
    }
    let expected = times.map { seconds, nanoseconds in
      let day = Date(timeIntervalSince1970: Double(seconds)).formatted(style).dropLast()
      // Foundation's calendar is Julian before 1582 only; all of these are Gregorian.
      return "\(day).\("\(1_000_000 + nanoseconds / 1_000)".dropFirst())Z"
    }
    #expect(texts == expected)
  }
}

import TestSupport

@testable import TapLog

@Suite struct LineWriterTests {
  private func written(capacity: Int = 8_192, _ body: (inout LineWriter) -> Void) -> String {
    String(decoding: LineWriter.bytes(capacity: capacity, body), as: UTF8.self)
  }

  /// A whole text as a JSON string.
  private func json(_ text: String) -> [UInt8] {
    LineWriter.bytes(capacity: 6 * text.utf8.count + 2) { $0.string(text, limit: .max) }
  }

  /// The content of a string, without its quotes.
  private func escaped(_ text: String) -> String {
    String(String(decoding: json(text), as: UTF8.self).dropFirst().dropLast())
  }

  @Test func `escapes what JSON and readers of lines cannot take`() {
    #expect(escaped("a\"\\/\u{8}\t\n\u{C}\r\u{0}\u{1F}\u{7F}b") == #"a\"\\/\b\t\n\f\r\u0000\u001f\u007fb"#)
    #expect(escaped("\u{80}\u{9F}\u{A0}\u{2028}\u{2029}") == "\\u0080\\u009f\u{A0}\\u2028\\u2029")
    let plain = "plain text, long enough for words ü 🎈\u{2027}"
    #expect(escaped(plain) == plain)
  }

  @Test(arguments: 1...24)
  func `finds every special byte at every place of a text`(length: Int) throws {
    for place in 0..<length {
      for byte in UInt8.min...0x7F {
        var bytes = [UInt8](repeating: UInt8(ascii: "a"), count: length)
        bytes[place] = byte
        let text = escaped(String(decoding: bytes, as: UTF8.self))
        let object = try JSONSerialization.jsonObject(with: Data("[\"\(text)\"]".utf8)) as? [String]
        #expect(object == [String(decoding: bytes, as: UTF8.self)])
        #expect((text.utf8.count == length) == (byte >= 0x20 && byte != 0x22 && byte != 0x5C && byte != 0x7F))
      }
    }
  }

  @Test func `writes any text so that it reads back, on one line`() throws {
    var generator = SystemRandomNumberGenerator()
    // What is escaped, its neighbours, and bytes that begin, continue and break sequences.
    let pieces: [[UInt8]] = [
      [0x41], [0x22], [0x5C], [0x00], [0x0A], [0x1F], [0x7F], [0xC2, 0x80], [0xC2, 0x9F], [0xC2, 0xA0],
      [0xC3, 0x80], [0xE2, 0x80, 0xA7], [0xE2, 0x80, 0xA8], [0xE2, 0x80, 0xA9], [0xE2, 0x80, 0xAA],
      [0xE2, 0x82, 0xAC], [0xF0, 0x9F, 0x8E, 0x88], [0xC2], [0xE2, 0x80], [0x80], [0xFF],
    ]
    for _ in 0..<20_000 {
      let bytes = (0..<Int.random(in: 1...24, using: &generator)).flatMap { _ in
        pieces.randomElement(using: &generator) ?? []
      }
      let text = String(decoding: bytes, as: UTF8.self)
      let json = self.json(text)
      let read =
        try JSONSerialization.jsonObject(with: Data(Array("[".utf8) + json + Array("]".utf8))) as? [String]
      #expect(read == [text])
      let isOneLine = String(decoding: json, as: UTF8.self).unicodeScalars.allSatisfy { scalar in
        ![.control, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory)
      }
      #expect(isOneLine)
      if read != [text] { return }
    }
  }

  @Test(arguments: 0...12)
  func `cuts a text between two characters`(limit: Int) {
    let text = "aü€🎈b\u{2028}"
    let written = written { $0.string(text, limit: limit) }
    let lengths = [1, 3, 6, 10, 11, 14]
    let expected = text.prefix(lengths.count { $0 <= limit })
    #expect(written == "\"\(expected)…\"")
  }

  @Test(arguments: 0...9)
  func `leaves out what does not fit, and goes on`(capacity: Int) {
    let text = written(capacity: capacity) { line in
      line.part { $0.append("ab") }
      line.part {
        $0.append("cdefg")
        $0.append("h")
      }
      line.part { $0.append("!") }
    }
    let expected = ["", "!", "ab", "ab!", "ab!", "ab!", "ab!", "ab!", "abcdefgh", "abcdefgh!"]
    #expect(text == expected[capacity])
  }

  @Test(arguments: [(0, 0), (1, 1), (999_999, 999_999), (1_000_000, 999_999), (Int.max, 999_999)])
  func `tells how many parts are missing, up to a number that always has room`(count: Int, told: Int) {
    let end = told == 0 ? "" : ",\"dropped_attributes_count\":\(told)"
    LineWriter.withLine { line in
      line.append("{")
      line.refused = count
    } _: { line in
      let text = String(decoding: line, as: UTF8.self)
      #expect(text == "{\(end)}\n")
    }
  }

  @Test(arguments: 0...40)
  func `writes each piece as a whole or not at all`(capacity: Int) {
    let pieces: [(inout LineWriter) -> Void] = [
      { $0.integer(Int64.min) }, { $0.integer(UInt64(7)) },
      { $0.seconds(nanoseconds: 1_234_567_890_123_456_789) },
      { $0.timestamp(Timestamp(nanosecondsSinceEpoch: 0)) }, { $0.string("abcdefghijklm\u{7F}", limit: 99) },
      { $0.key("0123456789") }, { $0.hexadecimal(.max) },
    ]
    for piece in pieces {
      let whole = written(capacity: 64, piece)
      let text = written(capacity: capacity) { line in line.part(piece) }
      #expect(text == (capacity < whole.utf8.count ? "" : whole))
    }
  }

  @Test(arguments: [
    (Duration.zero, "0"), (.nanoseconds(1), "0.000000001"), (.milliseconds(12_345), "12.345"),
    (.seconds(1), "1"), (.nanoseconds(100_000_000), "0.1"), (.milliseconds(1_005), "1.005"),
    (.seconds(-1), "0"),
    (.seconds(Int64.max), "9223372036.854775807"),
  ])
  func `writes seconds exactly`(duration: Duration, expected: String) {
    #expect(written { $0.seconds(nanoseconds: duration.nanoseconds) } == expected)
  }

  @Test(arguments: [
    (0.1, "0.1"), (-0.0, "-0.0"), (1e300, "1e+300"), (.leastNonzeroMagnitude, "5e-324"), (.nan, "\"NaN\""),
    (.infinity, "\"Infinity\""), (-.infinity, "\"-Infinity\""),
  ])
  func `writes numbers so that they read back`(value: Double, expected: String) {
    #expect(written { $0.double(value) } == expected)
  }

  @Test(arguments: [
    Int64.min, -10, -1, 0, 9, 10, 99, 100, 99_999_999, 100_000_000, 1_000_000_007, .max,
  ])
  func `writes integers`(value: Int64) { #expect(written { $0.integer(value) } == "\(value)") }

  @Test func `writes the time as Foundation does, from the year 1678 to 2262`() {
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

import Testing

@testable import TapLog

@Suite("The ring of lines")
struct LineBufferTests {
  private func add(_ text: String, to buffer: inout LineBuffer) -> Bool {
    Array(text.utf8).withUnsafeBytes { buffer.append($0, severity: .info) }
  }

  private func text(_ buffer: borrowing LineBuffer) -> String {
    let (first, second) = buffer.pieces
    return String(decoding: first, as: UTF8.self) + String(decoding: second, as: UTF8.self)
  }

  @Test("keeps lines whole at the end of its memory")
  func wraps() {
    var buffer = LineBuffer(byteCapacity: 10, lineCapacity: 8)
    #expect(add("aaaa", to: &buffer))
    #expect(add("bbb", to: &buffer))
    #expect(!add("cccc", to: &buffer))
    buffer.removeFirst()
    #expect(add("cccc", to: &buffer))
    #expect(!add("d", to: &buffer))
    #expect(text(buffer) == "bbbcccc")
    let first = buffer.pieces.0.count
    #expect(first == 3)
    buffer.removeFirst()
    #expect(add("dddd", to: &buffer))
    #expect(text(buffer) == "ccccdddd")
    buffer.removeFirst()
    buffer.removeFirst()
    let isEmpty = buffer.isEmpty
    #expect(isEmpty)
    #expect(add("eeeeeeeeee", to: &buffer))
  }

  @Test("takes no more lines than it has room for in its index")
  func lineLimit() {
    var buffer = LineBuffer(byteCapacity: 100, lineCapacity: 2)
    #expect(add("a", to: &buffer))
    #expect(add("b", to: &buffer))
    #expect(!add("c", to: &buffer))
    buffer.removeFirst()
    #expect(add("c", to: &buffer))
    #expect(text(buffer) == "bc")
  }

  @Test("goes on where a short write stopped, at every place", arguments: 0...12)
  func consumes(bytes: Int) {
    var buffer = LineBuffer(byteCapacity: 12, lineCapacity: 4)
    for line in ["aaaa", "bbb", "ccccc"] { #expect(add(line, to: &buffer)) }
    var lines = Tally<LogSeverity>()
    buffer.consume(bytes, into: &lines)
    #expect(text(buffer) == String("aaaabbbccccc".dropFirst(bytes)))
    #expect(lines[.info] == (bytes < 4 ? 0 : bytes < 7 ? 1 : bytes < 12 ? 2 : 3))
    let (count, length) = (buffer.count, buffer.firstLength)
    #expect(count == 3 - Int(lines.total))
    #expect(length == (bytes < 4 ? 4 - bytes : bytes < 7 ? 7 - bytes : 12 - bytes))
  }

  @Test(
    "gives whole lines up to a limit, and one at least",
    arguments: [(0, "aaaa"), (4, "aaaa"), (6, "aaaa"), (7, "aaaabbb"), (100, "aaaabbb")])
  func prefix(limit: Int, expected: String) {
    var buffer = LineBuffer(byteCapacity: 12, lineCapacity: 4)
    for line in ["aaaa", "bbb"] { #expect(add(line, to: &buffer)) }
    let text = String(decoding: buffer.prefix(limit), as: UTF8.self)
    #expect(text == expected)
  }

  @Test("does as an array would, through many random steps")
  func model() {
    var generator = SystemRandomNumberGenerator()
    var buffer = LineBuffer(byteCapacity: 50, lineCapacity: 6)
    var model: [String] = []
    for step in 0..<20_000 {
      if Bool.random(using: &generator) {
        let line = String(repeating: "\(step % 10)", count: .random(in: 1...20, using: &generator))
        if add(line, to: &buffer) { model.append(line) }
      } else if !model.isEmpty {
        buffer.removeFirst()
        model.removeFirst()
      }
      var lines: [String] = []
      buffer.forEach { line, _ in lines.append(String(decoding: line, as: UTF8.self)) }
      #expect(lines == model)
      #expect(text(buffer) == model.joined())
      if lines != model { return }
    }
  }
}

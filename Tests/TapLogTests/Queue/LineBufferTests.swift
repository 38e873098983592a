import TestSupport
import Testing

@testable import TapLog

@Suite struct LineBufferTests {
  private func add(_ text: String, to buffer: inout LineBuffer) -> Bool {
    Array(text.utf8).withUnsafeBytes { buffer.append($0, severity: .info) }
  }

  private func text(_ buffer: borrowing LineBuffer) -> String {
    let (first, second) = buffer.pieces
    return String(decoding: first, as: UTF8.self) + String(decoding: second, as: UTF8.self)
  }

  @Test
  func `keeps lines whole at the end of its memory`() {
    var buffer = LineBuffer(byteLimit: 10, lineLimit: 8)
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

  @Test
  func `takes no more lines than it has room for in its index`() {
    var buffer = LineBuffer(byteLimit: 100, lineLimit: 2)
    #expect(add("a", to: &buffer))
    #expect(add("b", to: &buffer))
    #expect(!add("c", to: &buffer))
    buffer.removeFirst()
    #expect(add("c", to: &buffer))
    #expect(text(buffer) == "bc")
  }

  @Test(arguments: 0...12)
  func `goes on where a short write stopped, at every place`(bytes: Int) {
    var buffer = LineBuffer(byteLimit: 12, lineLimit: 4)
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
    arguments: [(0, "aaaa"), (4, "aaaa"), (6, "aaaa"), (7, "aaaabbb"), (100, "aaaabbb")])
  func `gives whole lines up to a limit, and one at least`(limit: Int, expected: String) {
    var buffer = LineBuffer(byteLimit: 12, lineLimit: 4)
    for line in ["aaaa", "bbb"] { #expect(add(line, to: &buffer)) }
    let text = String(decoding: buffer.prefix(limit), as: UTF8.self)
    #expect(text == expected)
  }

  @Test(arguments: [.max, 1 << 46, 4 << 20])
  func `has memory for what it holds, and not for its limits`(limit: Int) {
    var buffer = LineBuffer(byteLimit: limit, lineLimit: limit)
    var capacities = [buffer.byteCapacity]
    var isAdded = true
    for _ in 0..<2_000 {
      isAdded = add(String(repeating: "x", count: 1_000), to: &buffer) && isAdded
      capacities.append(buffer.byteCapacity)
    }
    #expect(isAdded)
    #expect(capacities.first == 0)
    #expect(capacities[1] == 65_536)
    #expect(capacities.last == 1 << 21)
    let isWhole = text(buffer).utf8.count == 2_000_000
    #expect(isWhole)
  }

  @Test
  func `moves its first lines to another`() {
    var buffer = LineBuffer(byteLimit: 12, lineLimit: 4)
    var other = LineBuffer(byteLimit: 7, lineLimit: 4)
    for line in ["aaaa", "bbb", "cc"] { #expect(add(line, to: &buffer)) }
    buffer.moveFirst(2, to: &other)
    #expect(text(other) == "aaaabbb")
    buffer.moveFirst(1, to: &other)
    #expect(text(buffer) == "cc")
  }

  /// A small ring with a fixed size, and one that grows on its way, in bytes and in lines.
  @Test(
    arguments: [
      (bytes: 50, lines: 6, longest: 20, steps: 20_000), (1 << 19, 100, 30_000, 400), (.max, .max, 60, 4_000),
    ])
  func `does as an array would, through many random steps`(bytes: Int, lines: Int, longest: Int, steps: Int) {
    var generator = SeededGenerator(seed: steps)
    var buffer = LineBuffer(byteLimit: bytes, lineLimit: lines)
    var model: [String] = []
    for step in 0..<steps {
      // Two lines in for one out, so that the ring grows where it may.
      if Int.random(in: 0..<3, using: &generator) > 0 {
        let line = String(repeating: "\(step % 10)", count: .random(in: 1...longest, using: &generator))
        if add(line, to: &buffer) { model.append(line) }
      } else if !model.isEmpty {
        buffer.removeFirst()
        model.removeFirst()
      }
      guard bytes == 50 || step.isMultiple(of: 40) else { continue }
      var lines: [String] = []
      buffer.forEach { line, _ in lines.append(String(decoding: line, as: UTF8.self)) }
      #expect(lines == model)
      #expect(text(buffer) == model.joined())
      if lines != model { return }
    }
  }
}

import TestSupport

@testable import TapLog

@Suite struct LineBufferTests {
  @Test(arguments: 0...12)
  func `goes on where a short write stopped, at every place`(bytes: Int) {
    var buffer = LineBuffer("aaaa", "bbb", "ccccc")
    let lines = buffer.take(bytes)
    #expect(buffer.text == String("aaaabbbccccc".dropFirst(bytes)))
    #expect(lines[.info, default: 0] == (bytes < 4 ? 0 : bytes < 7 ? 1 : bytes < 12 ? 2 : 3))
    #expect(buffer.count == 3 - Int(lines.total))
    #expect(buffer.firstLength == (bytes < 4 ? 4 - bytes : bytes < 7 ? 7 - bytes : 12 - bytes))
    #expect(buffer.isFirstTorn == ![0, 4, 7, 12].contains(bytes))
  }

  @Test(arguments: [(0, 4), (4, 4), (6, 4), (7, 7), (11, 7), (12, 12)])
  func `measures whole lines up to a limit, and one at least`(limit: Int, expected: Int) {
    var buffer = LineBuffer("aaaa", "bbb", "ccccc")
    #expect(buffer.length(limit: limit) == expected)
    _ = buffer.take(1)
    #expect(buffer.length(limit: limit) == (limit < 6 ? 3 : limit < 11 ? 6 : 11))
  }

  @Test(arguments: [
    (10, 100, [2, 2, 2, 2, 2, 1], "first some many some some full"),
    (1_000, 4, [1, 1, 1, 1, 1], "first some many some full"),
    (1 << 20, 100_000, [65_535, 1, 1], "first many some"), (10, 1, [10, 1], "many full"),
  ])
  func `says when lines begin to wait, when they are many, and when there is no room`(
    bytes: Int, lines: Int, lengths: [Int], expected: String
  ) {
    var buffer = LineBuffer()
    var fills: [String] = []
    for length in lengths {
      let line = [UInt8](repeating: UInt8(ascii: "x"), count: length)
      line.withUnsafeBytes {
        fills.append("\(buffer.append($0, severity: .info, limits: (bytes, lines)))")
      }
    }
    #expect(fills.joined(separator: " ") == expected)
  }

  @Test func `counts the lines of each severity that are taken, in whatever order they come`() {
    var buffer = LineBuffer()
    for severity in [LogSeverity.info, .warn, .warn, .info, .error, .info, .warn] {
      [UInt8(ascii: "x")].withUnsafeBytes { buffer.append($0, severity: severity) }
    }
    let taken = buffer.take(7)
    #expect(taken == [.info: 3, .warn: 3, .error: 1])
  }

  @Test func `what is left of a line goes with it`() {
    var buffer = LineBuffer("aaaa", "bbb", "ccccc")
    _ = buffer.take(2)
    buffer.removeFirst()
    #expect(buffer.firstLength == 3 && buffer.byteCount == 8 && !buffer.isFirstTorn)
    #expect(buffer.text == "bbbccccc")
    // Also of the last one: what comes next is whole.
    buffer = LineBuffer("aaaa")
    _ = buffer.take(2)
    #expect(buffer.isFirstTorn)
    buffer.removeFirst()
    buffer.append("b")
    #expect(buffer.text == "b" && !buffer.isFirstTorn)
  }

  @Test(.needs(.program)) func `what has been taken leaves no memory behind`() async {
    await #expect(processExitsWith: .success) {
      var buffer = LineBuffer("the first")
      let line = String(repeating: "x", count: 1_000)
      let growth = try MemoryInUse.growth(of: 100_000) {
        buffer.append(line)
        _ = buffer.take(buffer.firstLength)
      }
      #expect(growth < 10_000_000)
    }
  }

  @Test func `does as an array would, through many random steps`() {
    let steps = Extent.of(1_000, extensive: 20_000)
    var generator = SeededGenerator(seed: steps)
    var buffer = LineBuffer()
    var model: [String] = []
    for step in 0..<steps {
      switch Int.random(in: 0..<20, using: &generator) {
      case 0..<11:
        let line = String(repeating: "\(step % 10)", count: .random(in: 1...60, using: &generator))
        buffer.append(line)
        model.append(line)
      case 11..<19:
        buffer.removeFirst()
        model.removeFirst(min(1, model.count))
      default:
        let lines = Int.random(in: 0...model.count, using: &generator)
        let taken = buffer.take(model.prefix(lines).reduce(0) { $0 + $1.utf8.count })
        #expect(taken.total == UInt64(lines))
        model.removeFirst(lines)
      }
      // Each of the first, when the buffer is short, and some later.
      guard step < 400 || step.isMultiple(of: 40) else { continue }
      guard buffer.lines == model, buffer.text == model.joined(), buffer.count == model.count else {
        Issue.record("step \(step)")
        return
      }
    }
  }
}

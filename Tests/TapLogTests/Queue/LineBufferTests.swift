import TestSupport

@testable import TapLog

@Suite struct LineBufferTests {
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

  /// Short writes stop within lines, and what is left of a line may be given up.
  @Test func `does as an array would, through many random steps`() {
    let steps = Extent.of(1_000, extensive: 20_000)
    var generator = SeededGenerator(seed: steps)
    var buffer = LineBuffer()
    var (model, isTorn): ([(text: String, severity: LogSeverity)], Bool) = ([], false)
    for step in 0..<steps {
      let byteCount = model.reduce(0) { $0 + $1.text.utf8.count }
      switch Int.random(in: 0..<20, using: &generator) {
      case 0..<12:
        let severity = LogSeverity.allCases.randomElement(using: &generator) ?? .info
        let line = String(repeating: "\(step % 10)", count: .random(in: 1...60, using: &generator))
        buffer.append(line, severity: severity)
        model.append((line, severity))
      case 12..<16:
        buffer.removeFirst()
        (model, isTorn) = (Array(model.dropFirst()), false)
      case let choice:
        var left = Int.random(in: 0...(choice == 19 ? byteCount : min(60, byteCount)), using: &generator)
        let taken = buffer.take(left)
        var whole: Tally<LogSeverity> = [:]
        while let first = model.first, left >= first.text.utf8.count {
          left -= first.text.utf8.count
          whole[first.severity, default: 0] += 1
          (model, isTorn) = (Array(model.dropFirst()), false)
        }
        if left > 0 {
          model[0].text.removeFirst(left)
          isTorn = true
        }
        #expect(taken == whole)
      }
      // Each of the first, when the buffer is short, and some later.
      guard step < 400 || step.isMultiple(of: 40) else { continue }
      let texts = model.map(\.text)
      // As many whole lines as a limit allows, and one at least.
      let limit = Int.random(in: 0...300, using: &generator)
      let ends = texts.indices.map { texts[...$0].joined().utf8.count }
      let length = ends.last { $0 <= limit } ?? ends.first ?? 0
      guard buffer.lines == texts, buffer.text == texts.joined(), buffer.isFirstTorn == isTorn,
        [buffer.count, buffer.firstLength, buffer.byteCount, buffer.length(limit: limit)]
          == [texts.count, texts.first?.utf8.count ?? 0, ends.last ?? 0, length]
      else {
        Issue.record("step \(step)")
        return
      }
    }
  }
}

extension LineBuffer {
  init(_ lines: String...) {
    self.init()
    for line in lines { append(line) }
  }

  mutating func append(_ line: String, severity: LogSeverity = .info) {
    Array(line.utf8).withUnsafeBytes { append($0, severity: severity) }
  }

  var text: String { withBytes { String(decoding: $0, as: UTF8.self) } }

  var lines: [String] {
    var lines: [String] = []
    forEach { line, _ in lines.append(String(decoding: line, as: UTF8.self)) }
    return lines
  }
}

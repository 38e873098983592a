import TestSupport

@testable import TapLog

extension LineBuffer {
  init(_ lines: String...) {
    self.init()
    for line in lines { append(line) }
  }

  mutating func append(_ line: String) { Array(line.utf8).withUnsafeBytes { append($0, severity: .info) } }

  var text: String { withBytes { String(decoding: $0, as: UTF8.self) } }

  var lines: [String] {
    var lines: [String] = []
    forEach { line, _ in lines.append(String(decoding: line, as: UTF8.self)) }
    return lines
  }
}

extension LogOutput {
  /// Writes lines, each of which gets its newline.
  mutating func write(lines: String...) throws {
    for line in lines {
      var batch = LineBuffer(line + "\n")
      let deadline = Deadline()
      while case .busy = write(&batch).state { try deadline.check("room for the line '\(line)'") }
      #expect(batch.isEmpty)
    }
  }
}

@testable import TapLog

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

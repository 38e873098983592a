import Synchronization
import TapCore

/// The last lines of a log, in memory.
///
/// Each line has a number, by which a reader asks for what came later. The first line's is the microsecond in
/// which the log began, so that after a restart of the app, too, later lines have higher numbers.
package final class RecentLines: Sendable {
  /// Lines, and the number of the last line that there was.
  package struct Answer: Sendable {
    package var bytes: [UInt8] = []
    package var last: Int64 = 0
  }

  private struct State {
    var lines = LineBuffer()
    var last = Timestamp.now.nanosecondsSinceEpoch / 1_000
    var isClosed = false
  }

  /// The most bytes of the lines. Their memory is up to four times as large.
  private static let byteLimit = 1 << 20

  private let limit: Int
  private let state = Mutex(State())

  /// - Parameter limit: The most lines.
  init(limit: Int) { self.limit = limit }

  func add(_ line: UnsafeRawBufferPointer, severity: LogSeverity) {
    state.withLock { state in
      if state.isClosed { return }
      state.lines.append(line, severity: severity)
      state.last &+= 1
      while state.lines.count > limit || state.lines.byteCount > Self.byteLimit { state.lines.removeFirst() }
    }
  }

  /// Keeps no later lines.
  func close() { state.withLock { $0.isClosed = true } }

  func lines(_ query: LogQuery) -> Answer {
    // `,"client.name":"…"` and `,"trace_id":"…"`, as a line has them, of those that are asked for. In a text
    // each quote is escaped.
    let members = [
      LineWriter.bytes(capacity: 2_048) { $0.member("client.name", query.client) },
      LineWriter.bytes(capacity: 2_048) { $0.member("trace_id", query.traceID) },
    ].filter { !$0.isEmpty }
    func hasMembers(_ line: UnsafeRawBufferPointer) -> Bool {
      members.allSatisfy { member in
        line.indices.contains { line[$0] == UInt8(ascii: ",") && line[$0...].starts(with: member) }
      }
    }
    // The search works on a copy, so that no thread that logs waits for it.
    let (lines, last) = state.withLock { ($0.lines, $0.last) }
    var answer = Answer(last: last)
    var ends: [Int] = []
    var number = last &- Int64(lines.count)
    lines.forEach { line, severity in
      number &+= 1
      guard number > query.after ?? .min, severity >= query.severity, hasMembers(line) else { return }
      answer.bytes += line
      ends.append(answer.bytes.count)
    }
    let excess = ends.count - max(0, query.limit)
    if excess > 0 { answer.bytes.removeFirst(ends[excess - 1]) }
    return answer
  }
}

/// A query for recent lines.
package struct LogQuery: Sendable {
  /// The maximum number of lines; the newest are chosen.
  package var limit: Int
  /// The least severity of the lines.
  package var severity: LogSeverity
  package var client: String?
  package var traceID: String?
  /// Only lines that came after the one of this number (``RecentLines/Answer/last``).
  package var after: Int64?

  package init(
    limit: Int = 100, severity: LogSeverity = .trace, client: String? = nil, traceID: String? = nil
  ) {
    (self.limit, self.severity, self.client, self.traceID) = (limit, severity, client, traceID)
  }

  /// Reads the query of a URL such as `/logs?limit=20&severity=warn`. Other names are ignored; of several
  /// with one name, the last is used.
  package init(items: [(name: String, value: String)]) throws(Invalid) {
    self.init()
    for (name, value) in items {
      switch name {
      case "limit":
        guard let count = Int(value), count >= 0 else {
          throw Invalid(description: "limit must be a number of lines, 0 or more")
        }
        limit = count
      case "severity":
        guard let known = LogSeverity.allCases.first(where: { $0.text == value.uppercased() }) else {
          let names = LogSeverity.allCases.map(\.text).joined(separator: ", ")
          throw Invalid(description: "severity must be one of \(names)")
        }
        severity = known
      case "client": client = value
      case "trace_id": traceID = value
      case "after":
        guard let number = Int64(value), number >= 0 else {
          throw Invalid(description: "after must be the number of a line, 0 or more")
        }
        after = number
      default: break
      }
    }
  }

  /// The name whose value is invalid, and its valid values.
  package struct Invalid: Error, CustomStringConvertible {
    package let description: String
  }
}

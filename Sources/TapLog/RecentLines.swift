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

  private struct Kept {
    var lines = LineBuffer()
    var last = Timestamp.now.nanosecondsSinceEpoch / 1_000
  }

  /// Lines that no reader has asked for since they came. Whoever logs waits for their lock, so nothing takes
  /// long under it.
  private struct Arrived {
    var lines = LineBuffer()
    /// Older ones that would not be kept.
    var skippedCount = 0
    var isClosed = false
  }

  private let lineLimit: Int
  private let byteLimit: Int
  private let arrived = Mutex(Arrived())
  private let kept = Mutex(Kept())

  init(lines: Int, bytes: Int) { (lineLimit, byteLimit) = (lines, bytes) }

  func add(_ line: UnsafeRawBufferPointer, severity: LogSeverity) {
    arrived.withLock { arrived in
      if arrived.isClosed { return }
      arrived.lines.append(line, severity: severity)
      arrived.skippedCount += trim(&arrived.lines)
    }
  }

  /// Keeps no later lines.
  func close() { arrived.withLock { $0.isClosed = true } }

  /// Removes the lines beyond the limits. Returns how many.
  @discardableResult private func trim(_ lines: inout LineBuffer) -> Int {
    var count = 0
    while lines.count > lineLimit || lines.byteCount > byteLimit {
      lines.removeFirst()
      count += 1
    }
    return count
  }

  private func takeArrived(to kept: inout Kept) {
    var lines = LineBuffer()
    let skippedCount = arrived.withLock { arrived in
      swap(&lines, &arrived.lines)
      return exchange(&arrived.skippedCount, with: 0)
    }
    kept.last &+= Int64(skippedCount) &+ Int64(lines.count)
    lines.forEach { line, severity in
      kept.lines.append(line, severity: severity)
      trim(&kept.lines)
    }
  }

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
    return kept.withLock { kept in
      takeArrived(to: &kept)
      var answer = Answer(last: kept.last)
      var ends: [Int] = []
      var number = kept.last &- Int64(kept.lines.count)
      kept.lines.forEach { line, severity in
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
}

/// A query for recent lines.
public struct LogQuery: Sendable {
  /// The maximum number of lines; the newest are chosen.
  public var limit: Int
  /// The least severity of the lines.
  public var severity: LogSeverity
  /// Only lines with this `client.name`.
  public var client: String?
  /// Only lines with this `trace_id`.
  public var traceID: String?
  /// Only lines that came after the one of this number (``RecentLines/Answer/last``).
  package var after: Int64?

  /// Makes a query. By default it asks for the newest 100 lines.
  public init(
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

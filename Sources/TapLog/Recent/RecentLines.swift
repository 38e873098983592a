import Synchronization
import TapCore

/// The last lines of a log, in memory.
final class RecentLines: Sendable {
  private let lineLimit: Int
  private let byteLimit: Int
  private let newest = Mutex(LineBuffer())

  init(lines: Int, bytes: Int) {
    lineLimit = lines
    byteLimit = bytes
  }

  /// Adds the lines of a batch, in their order.
  func add(_ batch: LineBuffer) {
    newest.withLock { lines in
      batch.forEach { line, severity in
        lines.append(line, severity: severity)
        while lines.count > lineLimit || lines.byteCount > byteLimit { lines.removeFirst() }
      }
    }
  }

  /// The newest lines that match, oldest first.
  func lines(_ query: LogQuery) -> [UInt8] {
    let filter = LineFilter(query)
    return newest.withLock { lines in
      var result: [UInt8] = []
      var ends: [Int] = []
      lines.forEach { line, severity in
        guard filter.matches(line, severity: severity) else { return }
        result += line
        ends.append(result.count)
      }
      let excess = ends.count - max(0, query.limit)
      if excess > 0 { result.removeFirst(ends[excess - 1]) }
      return result
    }
  }
}

/// A query, prepared to be matched with many lines.
private struct LineFilter {
  private let severity: LogSeverity
  /// `,"client":"…"` and `,"trace_id":"…"`, as a line has them, of those that are asked for. Nothing else in a line looks so: in a text
  /// each quote is escaped.
  private let members: [[UInt8]]

  init(_ query: LogQuery) {
    severity = query.severity
    let wanted = [("client", query.client), ("trace_id", query.traceID)]
    members = wanted.compactMap { key, value in
      value.map { value in
        Array(",\"\(key)\":".utf8)
          + ByteWriter.bytes(capacity: 2_048) { $0.string(value, limit: LineLimits.name) }
      }
    }
  }

  func matches(_ line: UnsafeRawBufferPointer, severity: LogSeverity) -> Bool {
    severity >= self.severity
      && members.allSatisfy { member in
        line.indices.contains { line[$0] == UInt8(ascii: ",") && line[$0...].starts(with: member) }
      }
  }
}

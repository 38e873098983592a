/// What a log has done so far. Each line that it was given is written, dropped, or still on its way.
public struct LogStatistics: Sendable, Hashable {
  var written = Tally<LogSeverity>()
  var dropped = Tally<LogDropReason>()
  var filtered = Tally<LogFilterReason>()

  /// Bytes written, newlines included.
  public internal(set) var bytes: UInt64 = 0
  /// Writes that failed. A failed write is tried again, so this is not the number of lines lost.
  public internal(set) var writeErrors: UInt64 = 0
  /// Lines in the queue and in the hands of the writer.
  public internal(set) var pending: UInt64 = 0

  /// Lines written.
  public var lines: UInt64 { written.total }

  /// Lines dropped, for whatever reason.
  public var droppedLines: UInt64 { dropped.total }

  /// Lines of a severity written.
  public func lines(_ severity: LogSeverity) -> UInt64 { written[severity] }

  /// Lines dropped for a reason.
  public func droppedLines(_ reason: LogDropReason) -> UInt64 { dropped[reason] }

  /// Lines that were not wanted, for a reason.
  public func filteredLines(_ reason: LogFilterReason) -> UInt64 { filtered[reason] }
}

import TapCore

/// The line that says how many lines are missing at its place, and why.
struct DropReport {
  let dropped: Tally<LogDropReason>
  let time: Timestamp

  func append(to buffer: inout LineBuffer) {
    LineWriter.withLine(of: self, write: { $0.write(to: &$1) }) {
      buffer.append($0, severity: .warn)
    }
  }

  private func write(to line: inout LineWriter) {
    line.begin(time, .warn, event: "session_tap.log.dropped")
    line.part { $0.member("dropped", Int64(clamping: dropped.total)) }
    for reason in LogDropReason.allCases where dropped[reason] > 0 {
      line.part { json in
        json.append(",\"dropped.")
        json.append(reason.staticText)
        json.append("\":")
        json.integer(dropped[reason])
      }
    }
  }
}

/// Writes to the app's own sink.
struct SinkOutput: LogOutput {
  let sink: any LogSink

  func write(_ batch: inout LineBuffer) -> LogOutputResult {
    let lines = batch.pieces.0
    var result = LogOutputResult()
    var taken = Tally<LogSeverity>()
    do {
      try sink.write(lines)
      batch.consume(lines.count, into: &taken)
      result.written = taken
      result.bytes = lines.count
    } catch {
      batch.consume(lines.count, into: &taken)
      result.dropped = taken.total
      result.state = .failed
    }
    return result
  }

  func flush() -> Bool { (try? sink.flush()) != nil }

  func close() { sink.close() }
}

import SessionTap
import Synchronization

extension Benchmark {
  /// What the queue costs the thread that ends a request, wake-ups of the writer included, beside a lock and a copy
  /// of the line under it.
  static let logEnqueue = Benchmark(
    "log.enqueue", unit: "ns", reference: "a Mutex around a copy of the line",
    value: {
      let log = try RequestLog(to: .memory)
      var time = 0.0
      for _ in 0..<bursts {
        log.withLine(of: LogSamples.observation) { line in
          time += Stopwatch.nanoseconds(per: bursts * burst) {
            for _ in 0..<burst { log.enqueue(line, severity: .info) }
          }
        }
        log.flush()
      }
      log.shutdown()
      return log.statistics.droppedLines == 0 ? time : .nan
    },
    referenceValue: {
      let log = try RequestLog(to: .memory)
      let mutex = Mutex([UInt8]())
      var time = 0.0
      for _ in 0..<bursts {
        mutex.withLock { bytes in
          bytes.removeAll(keepingCapacity: true)
          bytes.reserveCapacity(burst * 512)
        }
        log.withLine(of: LogSamples.observation) { line in
          time += Stopwatch.nanoseconds(per: bursts * burst) {
            for _ in 0..<burst { mutex.withLock { $0.append(contentsOf: line) } }
          }
        }
      }
      return time
    })

  private static let burst = 1_000
  private static let bursts = 100
}

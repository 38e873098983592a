import Foundation
import SessionTap
import Synchronization

extension Benchmark {
  /// One line of a request, beside the same fields through Foundation.
  static let logEncode = Benchmark(
    "log.encode", unit: "ns", reference: "Foundation's JSONEncoder, the same fields",
    value: {
      let log = try RequestLog(to: .memory)
      var observation = LogSamples.observation
      var bytes = 0
      let time = Stopwatch.nanoseconds(per: encodedLines) {
        for index in 0..<encodedLines {
          observation.responseBodySize = Int64(index & 1_023)
          log.withLine(of: observation) { bytes &+= $0.count }
        }
      }
      return bytes > 0 ? time : .nan
    },
    referenceValue: {
      let encoder = JSONEncoder()
      var line = FoundationLine()
      var bytes = 0
      let time = try Stopwatch.nanoseconds(per: encodedLines) {
        for index in 0..<encodedLines {
          line.responseBodySize = Int64(index & 1_023)
          bytes &+= try encoder.encode(line).count
        }
      }
      return bytes > 0 ? time : .nan
    })

  private static let encodedLines = 100_000

  /// The cost of the queue for the thread that ends a request, wake-ups of the writer included, beside a lock
  /// and a copy of the line under it.
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

  /// Lines a second from observations to a file in memory, none lost, beside the same bytes written
  /// ready-made in pieces of 64 KiB.
  static let logThroughput = Benchmark(
    "log.throughput", unit: "lines/s", reference: "write(2) of the same bytes, 64 KiB at a time", rounds: 5,
    value: {
      let path = temporaryPath()
      defer { try? FileManager.default.removeItem(atPath: path) }
      let log = try RequestLog(to: .file(path))
      let producers = max(1, ProcessInfo.processInfo.activeProcessorCount - 1)
      let time = Stopwatch.nanoseconds(per: writtenLines) {
        DispatchQueue.concurrentPerform(iterations: producers) { _ in
          let observation = LogSamples.observation
          for index in 0..<writtenLines / producers {
            log.requestEnded(observation)
            if index % 4_096 == 0 { log.flush(within: .seconds(60)) }
          }
        }
        log.shutdown(within: .seconds(60))
      }
      return log.statistics.lines == writtenLines / producers * producers ? 1e9 / time : .nan
    },
    referenceValue: {
      let path = temporaryPath()
      defer { try? FileManager.default.removeItem(atPath: path) }
      _ = FileManager.default.createFile(atPath: path, contents: nil)
      guard let file = FileHandle(forWritingAtPath: path) else { return .nan }
      let log = try RequestLog(to: .memory)
      var piece = Data()
      log.withLine(of: LogSamples.observation) { line in
        while piece.count < 65_536 { piece.append(contentsOf: line) }
      }
      let perPiece = piece.count { $0 == UInt8(ascii: "\n") }
      let time = try Stopwatch.nanoseconds(per: writtenLines) {
        for _ in 0..<writtenLines / perPiece { try file.write(contentsOf: piece) }
      }
      try file.close()
      return 1e9 / time
    })

  private static let writtenLines = 1_000_000

  /// On a file system in memory, where there is one.
  private static func temporaryPath() -> String {
    let folder =
      FileManager.default.isWritableFile(atPath: "/dev/shm")
      ? URL(fileURLWithPath: "/dev/shm") : FileManager.default.temporaryDirectory
    return folder.appendingPathComponent("session-tap-\(UUID().uuidString).jsonl").path
  }
}

/// The request of the log's benchmarks: a typical one.
private enum LogSamples {
  static let observation = RequestObservation(
    request: RequestDescription(
      client: "payments", method: "GET", url: "https://api.example.com/v1/users/42?token=s3cret",
      serverAddress: "api.example.com", serverPort: 443,
      traceContext: TraceContext(traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")),
    start: Timestamp(nanosecondsSinceEpoch: 1_795_253_400_111_111_456), duration: .nanoseconds(12_345_000),
    end: .response(statusCode: 200), requestBodySize: 0, responseBodySize: 512)
}

/// The fields of ``LogSamples/observation``, ready for Foundation: its time and its URL are text already.
private struct FoundationLine: Encodable {
  var timestamp = "2026-11-21T09:30:00.123456Z"
  var severity = "INFO"
  var event = "http.client.request"
  var client = "payments"
  var method = "GET"
  var url = "https://api.example.com/v1/users/42?token=REDACTED"
  var address = "api.example.com"
  var port = 443
  var statusCode = 200
  var duration = 0.012345
  var requestBodySize: Int64 = 0
  var responseBodySize: Int64 = 512
  var outcome = "ok"
  var traceID = "0af7651916cd43dd8448eb211c80319c"
  var spanID = "b7ad6b7169203331"

  enum CodingKeys: String, CodingKey {
    case timestamp, severity, event, client
    case method = "http.request.method"
    case url = "url.full"
    case address = "server.address"
    case port = "server.port"
    case statusCode = "http.response.status_code"
    case duration = "duration_s"
    case requestBodySize = "http.request.body.size"
    case responseBodySize = "http.response.body.size"
    case outcome
    case traceID = "trace_id"
    case spanID = "span_id"
  }
}

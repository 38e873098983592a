import Foundation
import SessionTap

extension Benchmark {
  /// One line of a request, beside the same fields through Foundation.
  static let logEncode = Benchmark(
    "log.encode", unit: "ns", reference: "Foundation's JSONEncoder, the same fields",
    value: {
      let log = try RequestLog(to: .memory)
      var observation = LogSamples.observation
      var bytes = 0
      let time = Stopwatch.nanoseconds(per: lines) {
        for index in 0..<lines {
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
      let time = try Stopwatch.nanoseconds(per: lines) {
        for index in 0..<lines {
          line.responseBodySize = Int64(index & 1_023)
          bytes &+= try encoder.encode(line).count
        }
      }
      return bytes > 0 ? time : .nan
    })

  private static let lines = 100_000
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

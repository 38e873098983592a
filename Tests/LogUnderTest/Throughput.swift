import Foundation
import TapCore
import TapLog

/// Lines as fast as they go, none lost, with the resident memory after each tenth of them.
struct Throughput {
  let path: String
  let lines: Int

  func run() throws {
    var configuration = RequestLog.Configuration()
    configuration.rotation = .size(256 << 20, keep: 1)
    let log = try RequestLog(to: .file(path), configuration: configuration)
    let observation = RequestObservation(
      request: RequestDescription(
        client: "payments", method: "GET", url: "https://api.example.com/v1/users/42?token=s3cret",
        serverAddress: "api.example.com", serverPort: 443,
        traceContext: TraceContext(traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")),
      start: .now, duration: .milliseconds(12), end: .response(statusCode: 200), responseBodySize: 512)
    let start = ContinuousClock.now
    for _ in 0..<10 {
      for index in 0..<lines / 10 {
        log.requestEnded(observation)
        if index % 4_096 == 0 { log.flush(within: .seconds(30)) }
      }
      print(#"{"resident_kib":\#(residentKibibytes)}"#)
    }
    log.shutdown(within: .seconds(30))
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    let statistics = log.statistics
    print(
      #"{"lines":\#(statistics.lines),"dropped":\#(statistics.droppedLines),"#
        + #""lines_per_second":\#(Int(Double(statistics.lines) / seconds))}"#)
  }

  private var residentKibibytes: Int {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
    return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
  }
}

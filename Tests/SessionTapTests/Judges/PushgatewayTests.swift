import SessionTap
import TestSupport

/// A Pushgateway of Debian's takes what is pushed.
@Suite(.needs(.program)) struct PushgatewayTests {
  @Test(
    .enabled(if: Tool.isUsable("prometheus-pushgateway"), "prometheus-pushgateway is missing"),
    arguments: ["nightly", "a/b c"])
  func `takes a push`(job: String) async throws {
    let process = try ChildProcess(
      Tool("prometheus-pushgateway").url, ["--web.listen-address=127.0.0.1:0", "--persistence.file="])
    try await process.waitForOutput("TLS is disabled")
    let port = try #require(
      process.output.firstMatch(of: /TLS is disabled.*address=127\.0\.0\.1:(\d+)/).flatMap { Int($0.1) })

    let registry = Registry()
    try registry.counter("jobs_total", help: "Jobs.").increment(by: 3)
    let durations = try registry.histogram("job_duration_seconds", help: "Durations.", unit: "seconds")
    for value in [0.01, 0.2, 30] { durations.record(value) }
    let gateway = try PushGateway("http://127.0.0.1:\(port)", job: job, grouping: ["instance": "here"])
    let pusher = try MetricsPusher(registry: registry, to: gateway)
    try await pusher.push()
    try registry.counter("jobs_total", help: "Jobs.").increment()
    try await pusher.push()

    let metrics = try await RawClient.get("/metrics", port: port)
    #expect(metrics.contains("\njobs_total{instance=\"here\",job=\"\(job)\"} 4\n"))
    #expect(metrics.contains("\njob_duration_seconds_count{instance=\"here\",job=\"\(job)\"} 3\n"))
    #expect(
      metrics.contains("\nsession_tap_pushes_total{instance=\"here\",job=\"\(job)\",outcome=\"ok\"} 1\n"))
    try await process.terminate()
  }
}

import SessionTap
import TestSupport

/// A Pushgateway of Debian's takes what is pushed.
@Suite(.needs(.program)) struct PushgatewayTests {
  @Test(
    .enabled(if: Tool.isUsable("prometheus-pushgateway"), "prometheus-pushgateway is missing"),
    arguments: ["nightly", "a/b c"])
  func `takes a push`(job: String) async throws {
    let (process, port) = try await Self.start()
    let registry = Registry()
    try registry.register(ProcessMetrics())
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
    // It compares what it has itself.
    #expect(metrics.contains("\nprocess_open_fds{instance=\"here\",job=\"\(job)\"} "))
    #expect(!process.output.contains("different help string"))
    try await process.terminate()
  }

  @Test(.enabled(if: Tool.isUsable("prometheus-pushgateway"), "prometheus-pushgateway is missing"))
  func `the error of a push that it refuses names the cause`() async throws {
    let (process, port) = try await Self.start()
    let registry = Registry()
    _ = try registry.gauge("go_memstats_frees_total", help: "Not a counter.")
    let pusher = try MetricsPusher(
      registry: registry, to: PushGateway("http://127.0.0.1:\(port)", job: "nightly"))
    let error = await PushTests.error(of: pusher)
    #expect(error?.description.contains("go_memstats_frees_total has type GAUGE but should") == true)
    try await process.terminate()
  }

  private static func start() async throws -> (process: ChildProcess, port: Int) {
    let process = try ChildProcess(
      Tool("prometheus-pushgateway").url, ["--web.listen-address=127.0.0.1:0", "--persistence.file="])
    try await process.waitForOutput("TLS is disabled")
    let port = process.output.firstMatch(of: /TLS is disabled.*address=127\.0\.0\.1:(\d+)/)
    return (process, try #require(port.flatMap { Int($0.1) }))
  }
}

import TestSupport

@testable import TapCore

@Suite(.needs(.prometheus), .enabled(if: Tool.isUsable("prometheus"), "prometheus is not installed"))
struct PrometheusTests {
  /// The quantile that Prometheus computes from native buckets is within one bucket's width of the true one.
  @Test func `ingests native histograms, and every control character`() async throws {
    let registry = try JudgedRegistry().registry
    let histogram = try registry.histogram(
      "job_duration_seconds", help: "Duration.", labels: ["kind": "a\n\"b\\"])
    _ = try registry.histogram("empty_seconds", help: "Nothing.")
    var generator = SeededGenerator(seed: 1)
    let values = (0..<5_000).map { _ in 0.02 / Double.random(in: 0.01...1, using: &generator) }.sorted()
    for value in values { histogram.record(value) }

    let server = try await PrometheusServer.start(
      scraping: registry, features: ["native-histograms", "exemplar-storage"])
    #expect(try await server.query("histogram_count(job_duration_seconds)") == 5_000)
    #expect(server.format == .protobuf && server.isCompressed == (Gzip.system != nil))
    #expect(try await server.query("count(characters)") == 160)
    let sum = try await server.query("histogram_sum(job_duration_seconds)")
    #expect(abs(sum - histogram.snapshot.sum) < 1e-6)
    // An empty native histogram is one too, and not a classic one.
    #expect(try await server.query("histogram_count(empty_seconds)") == 0)
    #expect(try await server.series("job_duration_seconds_bucket").isEmpty)
    #expect(try await server.series("job_duration_seconds").first?["kind"] == "a\n\"b\\")

    for quantile in [0.1, 0.5, 0.9, 0.99] {
      let estimate = try await server.query("histogram_quantile(\(quantile), job_duration_seconds)")
      let truth = values[Int(quantile * 5_000)]
      #expect(abs(estimate - truth) <= histogram.snapshot.native.width(around: truth))
    }

    // Growth across scrapes, with a resolution that is halved on the way.
    for value in values { histogram.record(value * 1_000) }
    _ = try await server.query("histogram_count(job_duration_seconds)") { $0 == 10_000 }
  }

  @Test func `ingests OpenMetrics, and every control character`() async throws {
    let registry = try JudgedRegistry().registry
    try registry.counter("jobs_total", help: "Jobs.", labels: ["kind": "email"]).increment(by: 3)
    let histogram = try registry.histogram(
      "job_duration_seconds", help: "Duration.", buckets: [0.5, 1, 1_000_000])
    histogram.record(0.7)
    let server = try await PrometheusServer.start(scraping: registry, features: [])
    #expect(try await server.query(#"jobs_total{kind="email"}"#) == 3)
    #expect(server.format == .openMetrics)
    #expect(try await server.query("count(characters)") == 160)
    #expect(try await server.query("job_duration_seconds_count") == 1)
    let bounds = try await server.series("job_duration_seconds_bucket").compactMap { $0["le"] }
    #expect(Set(bounds) == ["0.5", "1.0", "1e+06", "+Inf"])
  }
}

extension NativeBuckets {
  /// The width of the bucket that a value above zero belongs to.
  fileprivate func width(around value: Double) -> Double {
    let bucket = NativeScale().bucket(of: value) >> (NativeScale.schemas.upperBound - schema)
    return NativeScale.upperBound(of: bucket, schema: schema)
      - NativeScale.upperBound(of: bucket - 1, schema: schema)
  }
}

import TestSupport
import Testing

@testable import TapCore

struct SeriesLifetimeTests {
  private let registry = Registry()
  private let start = Instant.now

  private func names(after seconds: Int) -> [String] {
    let exposition = Exposition(of: registry.gather(at: start.advanced(by: .seconds(seconds))), in: .text)
    return String(decoding: exposition.bytes, as: UTF8.self).split(separator: "\n")
      .filter { !$0.hasPrefix("#") && !$0.hasPrefix("session_tap") }.map(String.init)
  }

  @Test func `removed series are gone`() throws {
    let family = try registry.counter("a_total", help: "", by: JobLabels.self)
    let kept = family[JobLabels(kind: "x")]
    kept.increment()
    family[JobLabels(kind: "y")].increment()
    #expect(family.remove(JobLabels(kind: "x")))
    #expect(!family.remove(JobLabels(kind: "x")))
    kept.increment()
    #expect(names(after: 0) == [#"a_total{kind="y"} 1"#])
    family[JobLabels(kind: "x")].increment()
    #expect(names(after: 0) == [#"a_total{kind="x"} 1"#, #"a_total{kind="y"} 1"#])
    family.removeAll()
    #expect(names(after: 0) == [])
    #expect(family[JobLabels(kind: "x")] !== kept)
  }

  @Test func `series with run time labels are removed by name`() throws {
    try registry.gauge("g", help: "", labels: ["a": "1"]).set(1)
    try registry.gauge("g", help: "", labels: ["a": "2"]).set(2)
    try registry.gauge("c", help: "") { 3 }
    #expect(registry.removeSeries(of: "g", labels: ["a": "1"]))
    #expect(!registry.removeSeries(of: "g", labels: ["a": "1"]))
    #expect(!registry.removeSeries(of: "none", labels: .none))
    #expect(names(after: 0) == ["c 3", #"g{a="2"} 2"#])
    registry.removeAllSeries(of: "c")
    registry.removeAllSeries(of: "g")
    #expect(names(after: 0) == [])
  }

  @Test func `room is free again after a removal`() throws {
    let family = try registry.gauge("g", help: "", by: JobLabels.self, options: SeriesOptions(limit: 1))
    family[JobLabels(kind: "a")].set(1)
    family[JobLabels(kind: "b")].set(2)
    #expect(names(after: 0) == [#"g{kind="a"} 1"#, #"g{otel_metric_overflow="true"} 2"#])
    family.remove(JobLabels(kind: "a"))
    family[JobLabels(kind: "b")].set(3)
    #expect(names(after: 0) == [#"g{kind="b"} 3"#, #"g{otel_metric_overflow="true"} 2"#])
  }

  @Test func `idle series expire and come back with all they had`() throws {
    let family = try registry.counter(
      "a_total", help: "", by: JobLabels.self, options: SeriesOptions(idleExpiry: .seconds(60)))
    let kept = family[JobLabels(kind: "kept")]
    kept.increment(by: 5)
    family[JobLabels(kind: "lost")].increment()
    let busy = family[JobLabels(kind: "busy")]
    busy.increment()
    #expect(names(after: 0).count == 3)
    busy.increment()
    #expect(names(after: 59).count == 3)
    #expect(names(after: 60) == [#"a_total{kind="busy"} 2"#])

    kept.increment()
    #expect(names(after: 61) == [#"a_total{kind="busy"} 2"#, #"a_total{kind="kept"} 6"#])
    #expect(family[JobLabels(kind: "kept")] === kept)
    // Nothing kept this one: it starts from 0 again.
    family[JobLabels(kind: "lost")].increment()
    #expect(names(after: 62).last == #"a_total{kind="lost"} 1"#)
  }

  @Test func `an expired series that is asked for is the same`() throws {
    let family = try registry.gauge(
      "g", help: "", by: JobLabels.self, options: SeriesOptions(idleExpiry: .seconds(1)))
    let kept = family[JobLabels(kind: "a")]
    kept.set(1)
    _ = names(after: 0)
    #expect(names(after: 5) == [])
    #expect(family[JobLabels(kind: "a")] === kept)
    #expect(names(after: 6) == [#"g{kind="a"} 1"#])
  }

  @Test func `idle request targets expire and the books still balance`() throws {
    var configuration = RequestOptions()
    configuration.series.idleExpiry = .seconds(10)
    let metrics = try RequestDriver(registry: registry, configuration: configuration)
    let over = RequestDescription(client: "c", method: "GET", serverAddress: "over")
    let active = RequestDescription(client: "c", method: "GET", serverAddress: "active")
    metrics.requestStarted(over)
    metrics.requestStarted(active)
    metrics.requestEnded(
      RequestObservation(
        request: over, start: .now, duration: .zero, end: .response(statusCode: 200)))
    func samples(after seconds: Int) -> [String] {
      let exposition = Exposition(of: registry.gather(at: start.advanced(by: .seconds(seconds))), in: .text)
      return String(decoding: exposition.bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }
    #expect(samples(after: 0).count { $0.hasPrefix("http_client_active_requests{") } == 2)
    let later = samples(after: 10)
    #expect(
      later.filter { $0.hasPrefix("http_client") } == [
        #"http_client_active_requests{client="c",http_request_method="GET",server_address="active"} 1"#,
        #"http_client_redirects_total{client="c",http_request_method="GET",server_address="active"} 0"#,
      ])
    #expect(later.contains(#"session_tap_started_requests_total{client="c"} 2"#))
    #expect(later.contains(#"session_tap_ended_requests_total{client="c"} 1"#))
  }
}

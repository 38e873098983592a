import Foundation
import TapCore
import Testing

@testable import TapURLSession

/// What URLSession measures on Apple's platforms, as phases.
@Suite struct TransactionTimesTests {
  private func instant(_ milliseconds: Double) -> Date {
    Date(timeIntervalSinceReferenceDate: milliseconds / 1_000)
  }

  /// Whole milliseconds of each phase that there is.
  private func phases(of timings: RequestTimings) -> [RequestTimings.Phase: Int] {
    RequestTimings.Phase.allCases.reduce(into: [:]) { phases, phase in
      phases[phase] = timings[phase].map { Int(($0 / .milliseconds(1)).rounded()) }
    }
  }

  @Test func `a new connection over TLS`() {
    let times = RequestTimings(
      fetchStart: instant(0), domainLookupStart: instant(1), domainLookupEnd: instant(11),
      connectStart: instant(11), secureConnectionStart: instant(31), secureConnectionEnd: instant(71),
      connectEnd: instant(71), requestStart: instant(72), responseStart: instant(172),
      responseEnd: instant(182))
    #expect(
      phases(of: times) == [
        .queue: 1, .resolve: 10, .connect: 20, .tls: 40, .processing: 100, .transfer: 10,
      ])
  }

  @Test func `a new connection without TLS`() {
    let times = RequestTimings(
      fetchStart: instant(0), connectStart: instant(0), connectEnd: instant(5), requestStart: instant(5),
      responseStart: instant(8), responseEnd: instant(8))
    #expect(phases(of: times) == [.connect: 5, .processing: 3, .transfer: 0])
  }

  @Test func `a connection that was open, after a wait for it`() {
    let times = RequestTimings(
      fetchStart: instant(0), requestStart: instant(500), responseStart: instant(800),
      responseEnd: instant(1_000))
    #expect(phases(of: times) == [.queue: 500, .processing: 300, .transfer: 200])
  }

  @Test func `a transfer that was cut short, and a clock that was set back`() {
    #expect(phases(of: RequestTimings()) == [:])
    #expect(phases(of: RequestTimings(fetchStart: instant(0), requestStart: instant(2))) == [.queue: 2])
    let back = RequestTimings(requestStart: instant(900), responseStart: instant(100))
    #expect(phases(of: back) == [.processing: 0])
    let endless = RequestTimings(requestStart: .distantPast, responseStart: .distantFuture)
    #expect(endless[.processing] == .seconds(1_000_000_000))
  }

  @Test(arguments: [
    ("http/1.0", NetworkProtocolVersion.http10), ("http/1.1", .http11), ("h2", .http2), ("h2c", .http2),
    ("h3", .http3),
  ])
  func `versions by the names that TLS negotiates`(name: String, version: NetworkProtocolVersion) {
    #expect(NetworkProtocolVersion(alpn: name) == version)
  }

  @Test(arguments: ["", "spdy/3.1", "H2", "hq-29"])
  func `names of other protocols`(name: String) {
    #expect(NetworkProtocolVersion(alpn: name) == nil)
  }
}

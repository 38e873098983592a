import Foundation
import Synchronization
import TapCore
import TestSupport

/// A real Prometheus that scrapes a registry.
final class PrometheusServer: Sendable {
  private let origin: Origin
  private let prometheus: Prometheus
  private let scrapes: Scrapes

  /// Starts to serve the registry and to scrape it.
  static func start(scraping registry: Registry, features: [String]) async throws -> PrometheusServer {
    let scrapes = Scrapes()
    let handler = ScrapeHandler(registry: registry) { $0() }
    let origin = try Origin { request in
      let answer = Mutex<ScrapeAnswer?>(nil)
      let isDone = Gate()
      handler.scrape(accept: request.headers["accept"], acceptEncoding: request.headers["accept-encoding"]) {
        scrape in
        answer.withLock { $0 = scrape }
        isDone.open()
      }
      // Another connection's thread may be the one that works.
      isDone.waitBlocking()
      guard let scrape = answer.withLock({ $0 }) else { return [.close] }
      scrapes.add(scrape)
      var headers = [("Content-Type", scrape.format.contentType)]
      if let coding = scrape.contentEncoding { headers.append(("Content-Encoding", coding)) }
      return [.response(headers: headers, body: scrape.bytes)]
    }
    let prometheus = try await Prometheus.start(scraping: origin.port, features: features)
    let server = PrometheusServer(origin: origin, prometheus: prometheus, scrapes: scrapes)
    try await server.waitForScrapes(1)
    return server
  }

  private init(origin: Origin, prometheus: Prometheus, scrapes: Scrapes) {
    self.origin = origin
    self.prometheus = prometheus
    self.scrapes = scrapes
  }

  deinit { prometheus.stop { [origin] in origin.stop() } }

  /// The format of the last answer.
  var format: ExpositionFormat? { scrapes.last?.format }

  /// Whether the last answer was compressed.
  var isCompressed: Bool { scrapes.last?.contentEncoding == "gzip" }

  /// Waits until that many scrapes more have come.
  func waitForScrapes(_ count: Int) async throws {
    try await scrapes.gate(after: count).wait(seconds: 30, "scrape")
  }

  /// Asks until Prometheus has the answer, one scrape after another: what was recorded before is in one of the next.
  func query(_ expression: String, until isRight: (Double) -> Bool = { _ in true }) async throws -> Double {
    var value: Double?
    for _ in 0..<40 {
      try await waitForScrapes(1)
      value = try await prometheus.query(expression).first?.value
      if let value, isRight(value) { return value }
    }
    throw NoAnswer(expression: expression, last: value)
  }

  /// The labels of each series that matches.
  func series(_ matcher: String) async throws -> [[String: String]] {
    try await prometheus.query(matcher).map(\.labels)
  }

  struct NoAnswer: Error {
    let expression: String
    let last: Double?
  }

  /// The scrapes that have come.
  private final class Scrapes: Sendable {
    private let state = Mutex(State())

    private struct State {
      var last: ScrapeAnswer?
      var count = 0
      var waiting: [(count: Int, gate: Gate)] = []
    }

    var last: ScrapeAnswer? { state.withLock { $0.last } }

    func add(_ answer: ScrapeAnswer) {
      let gates = state.withLock { state in
        state.last = answer
        state.count += 1
        let count = state.count
        let due = state.waiting.filter { $0.count <= count }
        state.waiting.removeAll { $0.count <= count }
        return due.map(\.gate)
      }
      for gate in gates { gate.open() }
    }

    func gate(after count: Int) -> Gate {
      state.withLock { state in
        let gate = Gate()
        state.waiting.append((state.count + count, gate))
        return gate
      }
    }
  }
}

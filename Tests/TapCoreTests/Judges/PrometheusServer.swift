import Foundation
import Synchronization
import TapCore
import TestSupport

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A real Prometheus that scrapes a registry.
final class PrometheusServer: Sendable {
  private let origin: Origin
  private let process: ToolProcess
  private let port: Int
  private let folder: URL
  private let scrapes: Scrapes

  /// Starts to serve the registry and to scrape it.
  ///
  /// Prometheus does not report the port that the system chose, so it gets one that was free shortly before; if another
  /// process takes it meanwhile, the next one is tried.
  static func start(scraping registry: Registry, features: [String]) async throws -> PrometheusServer {
    var attempts = 0
    while true {
      do {
        let server = try PrometheusServer(registry, features: features)
        try await server.waitForScrapes(1)
        return server
      } catch {
        attempts += 1
        if attempts == 3 { throw error }
      }
    }
  }

  private init(_ registry: Registry, features: [String]) throws {
    let scrapes = Scrapes()
    self.scrapes = scrapes
    let handler = ScrapeHandler(registry: registry) { $0() }
    origin = try Origin { request in
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
      var headers = [("Content-Type", scrape.contentType)]
      if let coding = scrape.contentEncoding { headers.append(("Content-Encoding", coding)) }
      return [.response(headers: headers, body: scrape.bytes)]
    }
    port = try ClosedPort().port
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("prometheus-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let configuration = """
      global: {scrape_interval: 1s, scrape_timeout: 1s}
      scrape_configs:
      - job_name: app
        static_configs: [{targets: ["127.0.0.1:\(origin.port)"]}]
      """
    let file = folder.appendingPathComponent("prometheus.yml")
    try Data(configuration.utf8).write(to: file)
    process = try Tool("prometheus").start(
      [
        "--config.file=\(file.path)", "--storage.tsdb.path=\(folder.path)/data",
        "--web.listen-address=127.0.0.1:\(port)",
      ] + (features.isEmpty ? [] : ["--enable-feature=" + features.joined(separator: ",")]))
  }

  deinit {
    process.stop()
    origin.stop()
    // Not here: a thread of Swift's tasks must not wait.
    Thread.detachNewThread { [process, folder] in
      process.ended.waitBlocking(seconds: 20)
      try? FileManager.default.removeItem(at: folder)
    }
  }

  /// The format of the last answer.
  var format: ExpositionFormat? { scrapes.last?.format }

  /// Whether the last answer was compressed.
  var isCompressed: Bool { scrapes.last?.coding == .gzip }

  /// Waits until that many scrapes more have come.
  func waitForScrapes(_ count: Int) async throws {
    try await scrapes.gate(after: count).wait(seconds: 30, "scrape")
  }

  /// Asks until Prometheus has the answer, one scrape after another: what was recorded before is in one of the next.
  func query(_ expression: String, until isRight: (Double) -> Bool = { _ in true }) async throws -> Double {
    var value: Double?
    for _ in 0..<40 {
      try await waitForScrapes(1)
      value = try await ask("query", ["query": expression]).data.result?.first?.value?.number
      if let value, isRight(value) { return value }
    }
    throw NoAnswer(expression: expression, last: value)
  }

  /// The labels of each series that matches.
  func series(_ matcher: String) async throws -> [[String: String]] {
    try await ask("query", ["query": matcher]).data.result?.map { $0.metric ?? [:] } ?? []
  }

  /// The answer of the HTTP API.
  private func ask(_ path: String, _ parameters: [String: String]) async throws -> Answer {
    var components = URLComponents()
    (components.scheme, components.host, components.port) = ("http", "127.0.0.1", port)
    components.path = "/api/v1/" + path
    components.queryItems = parameters.map { URLQueryItem(name: $0.key, value: $0.value) }
    guard let url = components.url else { throw URLError(.badURL) }
    let (data, _) = try await URLSession.shared.data(from: url)
    return try JSONDecoder().decode(Answer.self, from: data)
  }

  struct NoAnswer: Error {
    let expression: String
    let last: Double?
  }

  private struct Answer: Decodable {
    let data: Content

    struct Content: Decodable {
      let result: [Series]?
    }
    struct Series: Decodable {
      let metric: [String: String]?
      let value: Value?
    }
    /// `[time, "value"]`
    struct Value: Decodable {
      let number: Double

      init(from decoder: any Decoder) throws {
        var list = try decoder.unkeyedContainer()
        _ = try list.decode(Double.self)
        number = Double(try list.decode(String.self)) ?? .nan
      }
    }
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

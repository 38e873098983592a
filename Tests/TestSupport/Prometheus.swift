/// A real Prometheus with a folder of its own, on a free port, that scrapes a port of this machine every second.
package final class Prometheus: Sendable {
  private let process: ChildProcess
  private let port: Int
  private let folder: TemporaryFolder

  /// A sample of an answer.
  package struct Sample: Decodable, Sendable {
    package let labels: [String: String]
    package let value: Double

    private enum CodingKeys: CodingKey { case metric, value }

    package init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      labels = try container.decodeIfPresent([String: String].self, forKey: .metric) ?? [:]
      // `[time, "value"]`; a native histogram has none.
      guard container.contains(.value) else {
        value = .nan
        return
      }
      var pair = try container.nestedUnkeyedContainer(forKey: .value)
      _ = try pair.decode(Double.self)
      value = Double(try pair.decode(String.self)) ?? .nan
    }
  }

  private struct Answer: Decodable {
    struct Content: Decodable { let result: [Sample]? }
    let data: Content
  }

  /// Starts one that scrapes a port.
  ///
  /// Prometheus does not report the port that the system chose, so it gets one that was free shortly before; if another
  /// process takes it meanwhile, the next one is tried.
  package static func start(scraping target: Int, features: [String] = []) async throws -> Prometheus {
    var attempts = 0
    while true {
      do {
        let server = try Prometheus(scraping: target, features: features)
        _ = try await Poll.until(seconds: 30, "a Prometheus that is ready") {
          try? await server.query("vector(1)").first
        }
        return server
      } catch {
        attempts += 1
        if attempts == 3 { throw error }
      }
    }
  }

  private init(scraping target: Int, features: [String]) throws {
    port = try ClosedPort().port
    folder = try TemporaryFolder()
    let configuration = """
      global: {scrape_interval: 1s, scrape_timeout: 1s}
      scrape_configs:
      - job_name: app
        static_configs: [{targets: ["127.0.0.1:\(target)"]}]
      """
    process = try ChildProcess(
      Tool("prometheus").url,
      [
        "--config.file=\(folder.write(configuration, to: "prometheus.yml"))",
        "--storage.tsdb.path=\(folder("data"))", "--web.listen-address=127.0.0.1:\(port)",
      ] + (features.isEmpty ? [] : ["--enable-feature=" + features.joined(separator: ",")]))
  }

  deinit { stop {} }

  /// Ends the program, and then what it scrapes: the port may be another test's at once, which must get no scrape.
  package func stop(then stopTarget: @escaping @Sendable () -> Void) {
    process.send(SIGKILL)
    // Not here: a thread of Swift's tasks must not wait.
    Thread.detachNewThread { [process, folder] in
      process.ended.waitBlocking(seconds: 20)
      stopTarget()
      folder.remove()
    }
  }

  /// The answer to an instant query.
  package func query(_ expression: String) async throws -> [Sample] {
    var components = URLComponents()
    (components.scheme, components.host, components.port) = ("http", "127.0.0.1", port)
    components.path = "/api/v1/query"
    components.queryItems = [URLQueryItem(name: "query", value: expression)]
    guard let url = components.url else { throw URLError(.badURL) }
    let (data, _) = try await URLSession.shared.data(from: url)
    return try JSONDecoder().decode(Answer.self, from: data).data.result ?? []
  }
}

import Foundation
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A real Prometheus with a folder of its own, on a free port.
struct PrometheusServer {
  private let process: ChildProcess
  private let folder: URL
  private let url: URL

  /// Starts one that scrapes a port of this machine every second.
  static func start(scraping port: Int) async throws -> PrometheusServer {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "prometheus-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let config = folder.appendingPathComponent("prometheus.yml")
    try """
    global: {scrape_interval: 1s, scrape_timeout: 1s}
    scrape_configs:
      - job_name: demo
        static_configs: [{targets: ["127.0.0.1:\(port)"]}]
    """.write(to: config, atomically: true, encoding: .utf8)
    let executable = try Tool("prometheus").url
    // Prometheus cannot say which port it took, so one is chosen that was free a moment ago.
    let listening = try ClosedPort().port
    let process = try ChildProcess(
      executable,
      [
        "--config.file=\(config.path)", "--storage.tsdb.path=\(folder.path)/data",
        "--web.listen-address=127.0.0.1:\(listening)",
      ])
    try await process.waitForOutput("Server is ready to receive web requests")
    let url = try #require(URL(string: "http://127.0.0.1:\(listening)"))
    return PrometheusServer(process: process, folder: folder, url: url)
  }

  /// The value of an instant query with one sample, `nil` while there is none.
  func query(_ expression: String) async throws -> Double? {
    var components = URLComponents(url: url, resolvingAgainstBaseURL: false)
    components?.path = "/api/v1/query"
    components?.queryItems = [URLQueryItem(name: "query", value: expression)]
    let (data, _) = try await URLSession(configuration: .ephemeral).data(from: try #require(components?.url))
    return try JSONDecoder().decode(Answer.self, from: data).data.result.first?.number
  }

  /// Ends it and removes its folder.
  func stop() async throws {
    try await process.terminate()
    try FileManager.default.removeItem(at: folder)
  }

  private struct Answer: Decodable {
    struct Body: Decodable { var result: [Sample] }
    struct Sample: Decodable {
      var number: Double?

      private enum Key: CodingKey { case value }

      init(from decoder: any Decoder) throws {
        var pair = try decoder.container(keyedBy: Key.self).nestedUnkeyedContainer(forKey: .value)
        _ = try pair.decode(Double.self)
        number = Double(try pair.decode(String.self))
      }
    }
    var data: Body
  }
}

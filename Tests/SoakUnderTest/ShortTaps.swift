import SessionTap
import TestSupport

/// Taps that live for one request each. In a stock run, the same requests in sessions of their own.
final class ShortTaps: Sendable {
  private struct State {
    var count = 0
    var faults: [String] = []
  }

  private let url: URL
  private let isStock: Bool
  private let state = Mutex(State())

  init(port: Int, isStock: Bool) {
    url = URL(string: "http://127.0.0.1:\(port)/0/sized") ?? URL(fileURLWithPath: "/")
    self.isStock = isStock
  }

  var count: Int { state.withLock { $0.count } }
  /// What was wrong with the first few of them.
  var faults: [String] { state.withLock { $0.faults } }

  func runOne() async {
    let fault: String?
    do {
      fault = isStock ? try await request(.init(configuration: .ephemeral)) : try await runTap()
    } catch {
      fault = "\(error)"
    }
    state.withLock { state in
      state.count += 1
      if let fault, state.faults.count < 5 { state.faults.append("tap \(state.count): \(fault)") }
    }
  }

  private func request(_ session: URLSession) async throws -> String? {
    _ = try await session.data(from: url)
    session.finishTasksAndInvalidate()
    return nil
  }

  private func runTap() async throws -> String? {
    var configuration = Tap.Configuration(environment: [:])
    configuration.endpoint = Endpoint.Configuration(address: .loopback(port: 0))
    configuration.servesLog = true
    let tap = try Tap.start(configuration)
    _ = try await request(
      URLSession(configuration: tap.sessionConfiguration(from: .ephemeral, client: "short")))
    let text = String(decoding: tap.registry.exposition(in: .text).body, as: UTF8.self)
    await tap.shutdown()
    let counts = [
      "session_tap_started_requests_total", "session_tap_ended_requests_total",
      "http_client_request_duration_seconds_count", "http_client_active_requests",
    ].map { ExpositionText.sum(of: $0, in: text) }
    let lines = tap.requestLog?.statistics.lines ?? 0
    return counts == [1, 1, 1, 0] && lines == 1
      ? nil : "started, ended, recorded and active are \(counts), and there are \(lines) lines"
  }
}

import Synchronization
import TapCore
import TapURLSession
import Testing

/// Requests that the app serves, on the way that a tap has for what it tells of.
@Suite struct InboundDeliveryTests {
  /// Counts how often it hears of each request, and scrapes meanwhile.
  private final class Observer: InboundRequestObserver {
    private let registry: Registry
    private let heard = Mutex<[String: Int]>([:])
    var counts: [String: Int] { heard.withLock { $0 } }

    init(_ registry: Registry) { self.registry = registry }

    func inboundRequestEnded(_ observation: InboundObservation) {
      let count = heard.withLock { heard in
        heard["\(observation.path) \(observation.outcome)", default: 0] += 1
        return heard.count
      }
      if count % 500 == 0 { _ = registry.exposition() }
    }
  }

  @Test func `each is recorded once, whoever ends it and however often`() async throws {
    let registry = Registry()
    let observer = Observer(registry)
    let tap = URLSessionTap(observers: [])
    let inbound = try InboundRequests(
      registry: registry, configuration: InboundRequests.Configuration(), observers: [observer],
      delivery: tap.delivery)
    await withTaskGroup(of: Void.self) { group in
      for task in 0..<8 {
        group.addTask {
          for number in 0..<500 {
            let request = inbound.begin(method: "GET", path: "/\(task)/\(number)")
            switch number % 5 {
            case 0: request.end(statusCode: 200)
            case 1:
              request.fail(.timeout)
              request.end(statusCode: 200)
              request.cancel()
            case 2: request.cancel()
            case 3: break  // Let go without an end.
            default:
              async let other: Void = request.end(statusCode: 200)
              request.end(statusCode: 200)
              await other
            }
            if number % 100 == 0 { _ = registry.exposition() }
          }
        }
      }
    }
    let text = String(decoding: registry.exposition().bytes, as: UTF8.self)
    for line in [
      "session_tap_inbound_started_requests_total 4000", "session_tap_inbound_ended_requests_total 4000",
      "session_tap_inbound_cancelled_requests_total 1600",
      #"http_server_active_requests{http_request_method="GET"} 0"#,
      #"http_server_request_duration_seconds_count{http_request_method="GET",http_response_status_code="200"} 1600"#,
      #"http_server_request_duration_seconds_count{error_type="timeout",http_request_method="GET"} 800"#,
      #"http_server_request_duration_seconds_count{http_request_method="GET"} 1600"#,
    ] {
      #expect(text.split(separator: "\n").contains { $0 == line }, "\(line)")
    }
    let expected = (0..<8).flatMap { task in
      (0..<500).map { "/\(task)/\($0) \(["ok", "error", "cancelled", "cancelled", "ok"][$0 % 5])" }
    }
    #expect(observer.counts == Dictionary(uniqueKeysWithValues: expected.map { ($0, 1) }))
  }
}

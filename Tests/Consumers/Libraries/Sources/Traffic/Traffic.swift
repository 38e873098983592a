import Foundation
import FoundationNetworking
import Libraries
import SessionTap
import TapTesting

/// The same requests for each program: five a round, one by each library. Returns what the libraries did, in
/// the order of the calls.
package func traffic(rounds: Int, to origin: URL, api: API) async throws -> [String] {
  let (analytics, fixtures) = (Analytics(collector: origin.appendingPathComponent("collect")), Fixtures())
  let streaming = Streaming(url: origin.appendingPathComponent("stream"))
  guard let fixture = URL(string: "http://fixture.test/") else { return [] }
  var results: [String] = []
  for round in 0..<rounds {
    results.append(
      "api \(try await api.get(origin.appendingPathComponent(round % 10 == 9 ? "missing" : "hello")))")
    results.append("analytics \(try await analytics.send(Array(repeating: "event", count: round % 7)))")
    for try await event in await streaming.events() { results.append("event \(event)") }
    results.append("file \(try await Files.size(of: origin.appendingPathComponent("file")))")
    results.append("fixture \(try await fixtures.get(fixture))")
  }
  return results
}

/// A tap without an endpoint.
package func makeTap() throws -> Tap { try Tap.testing { $0.isQuiet = false } }

extension Tap {
  /// How many requests ended, by client. The metrics and the records have to agree.
  package func counts() -> [String: Int] {
    let counts = Dictionary(grouping: recordedRequests(), by: \.request.client).mapValues(\.count)
    for (client, count) in counts {
      let metric = registry.value(of: "session_tap_ended_requests_total", labels: ["client": client])
      expect(
        metric == Double(count), "\(client): \(count) records, \(String(describing: metric)) in the metrics")
    }
    return counts
  }
}

/// Ends the program if a condition does not hold.
package func expect(_ condition: Bool, _ message: @autoclosure () -> String) {
  if condition { return }
  FileHandle.standardError.write(Data("FAILED: \(message())\n".utf8))
  exit(1)
}

/// What the program did, for `check`.
package func report(_ results: [String], _ counts: [String: Int]) throws {
  print(String(decoding: try JSONEncoder().encode(Report(results: results, counts: counts)), as: UTF8.self))
}

private struct Report: Encodable {
  let results: [String]
  let counts: [String: Int]
}

/// What making a configuration, a session, and asking for the shared one take, in nanoseconds of processor
/// time of this thread.
package func measure() -> [Double] {
  func cost(_ body: () -> Void) -> Double {
    func now() -> Double {
      var time = timespec()
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
      return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
    }
    let start = now()
    for _ in 0..<1_000 { body() }
    return (now() - start) / 1_000
  }
  let configuration = URLSessionConfiguration.default
  return [
    cost { _ = URLSessionConfiguration.default }, cost { _ = URLSession(configuration: configuration) },
    cost { _ = URLSession.shared },
  ]
}

/// The medians of measurements.
package func medians(_ rounds: [[Double]]) -> String {
  zip(["configuration", "session", "shared"], rounds[0].indices).map { name, index in
    "\(name) \(Int(rounds.map { $0[index] }.sorted()[rounds.count / 2])) ns"
  }.joined(separator: ", ")
}

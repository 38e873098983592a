import TestSupport

@testable import TapURLSession

/// Requests that are resumed twice, suspended, or redirected, and then cancelled: libcurl's total is not that
/// of the whole.
struct InterruptionTests {
  enum Way: CaseIterable, Sendable { case resumedTwice, suspended, redirected }

  private static let count = Extent.of(4, extensive: 20)
  /// For how long the server has the request before the cancel, in milliseconds.
  private static let pause = 25

  @Test(arguments: Way.allCases)
  func `no phase takes longer than what has passed`(way: Way) async throws {
    let (arrivals, over) = (Arrivals(), Gate())
    let origin = try Origin { request in
      if request.path == "/other" { return [.response()] }
      if way == .redirected, request.path.hasSuffix("a") {
        return [.think(Self.pause), .redirect("307 Temporary Redirect", to: "/b")]
      }
      poll(nil, 0, Int32(Self.pause))
      arrivals.note(request.path)
      return [.hold(over)]
    }
    defer { over.open() }
    let (tap, observer) = URLSessionTap.observed()
    let (session, other) = (tap.session(), URLSession(configuration: .ephemeral))
    for number in 1...Self.count {
      var request = URLRequest(url: origin.url("/\(number)a"))
      if way != .suspended { request.httpMethod = "POST" }
      // Foundation does not send the body of an upload again after a suspension.
      let body = Data(repeating: 7, count: number % 2 == 0 ? 200 : 70_000)
      let task =
        way == .suspended ? session.dataTask(with: request) : session.uploadTask(with: request, from: body)
      task.resume()
      if way == .resumedTwice { task.resume() }
      if way == .suspended {
        try await arrivals.wait(for: 2 * number - 1)
        task.suspend()
        // A whole request of another session: Foundation's queue has come to the suspension by then.
        _ = try await other.data(from: origin.url("/other"))
        task.resume()
      }
      try await arrivals.wait(for: way == .suspended ? 2 * number : number)
      task.cancel()
      try await observer.waitForEnds(number)
    }
    session.finishTasksAndInvalidate()
    other.finishTasksAndInvalidate()
    // Of a redirect's last leg nothing tells the begin.
    #expect(way == .redirected || observer.ended.contains { !$0.isSentAgain })
    for observation in observer.ended {
      let phases = observation.timings
      #expect(observation.end == .cancelled && observation.cutOffPhase == .processing)
      #expect(observation.phaseSum <= observation.elapsed, "\(phases) \(observation.elapsed)")
      guard way != .redirected, !observation.isSentAgain else { continue }
      // The server had all of the request, and paused.
      let processing = try #require(phases[nanoseconds: .processing], "\(phases)")
      #expect(processing >= Int64(Self.pause) * 1_000_000 - TCPInfo.resolution, "\(phases)")
    }
  }
}

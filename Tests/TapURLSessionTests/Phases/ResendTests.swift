import TestSupport

@testable import TapURLSession

struct ResendTests {
  private static let count = Extent.of(5, extensive: 25)

  /// The server resets each connection at its second request, so libcurl sends that again on a new one.
  @Test(arguments: [0, 20])
  func `a dead connection is no wait for one`(delay: Int) async throws {
    let seen = Mutex<Set<String>>([])
    let origin = try Origin { request in
      let isFirst = seen.withLock { $0.insert(request.path).inserted }
      return request.path.hasSuffix("b") && isFirst ? [.think(delay), .reset] : [.response(body: [1])]
    }
    let (tap, observer) = URLSessionTap.observed()
    let session = tap.session()
    for number in 0..<Self.count {
      for half in ["a", "b"] { _ = try await session.data(from: origin.url("/\(number)\(half)")) }
    }
    session.finishTasksAndInvalidate()
    try await observer.waitForEnds(2 * Self.count)
    let again = observer.ended.filter { $0.timeToResend != nil }
    #expect(again.count == Self.count && again.allSatisfy { $0.request.url.hasSuffix("b") })
    for observation in again {
      let resend = try #require(observation.timeToResend)
      #expect(resend >= .milliseconds(delay))
      #expect(observation.openedConnections == 1 && observation.resendCount == 0)
      #expect(observation.timings[.queue] ?? .zero <= .milliseconds(1), "\(observation.timings)")
      // What was spent on the dead connection is no phase, and all else is one.
      #expect(observation.phaseSum <= observation.elapsed - resend.nanoseconds)
    }
  }
}

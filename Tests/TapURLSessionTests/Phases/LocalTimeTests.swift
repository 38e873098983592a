import TestSupport

@testable import TapURLSession

/// Whose time it was: the server's, or that of this process, whose sessions share one queue.
struct LocalTimeTests {
  /// The response arrives while the queue is held, by the request's session or another one: the server sends
  /// it only then, and the queue is let go after that.
  @Test(.needs(.sessionQueue), arguments: [true, false], [false, true])
  func `a response that lies unread is not the server's time`(holdsItself: Bool, isUpload: Bool) async throws
  {
    var answered: Int64 = 0
    let observation = try await RequestObservation.sentOnce {
      let made = try await Self.observe(holdsItself: holdsItself, isUpload: isUpload)
      answered = made.answered
      return made.observation
    }
    let (phases, precision) = (observation.timings, TCPInfo.resolution)
    #expect(observation.phaseSum == observation.elapsed, "\(phases)")
    #expect(try #require(phases[nanoseconds: .local]) >= Int64(Self.held) * 1_000_000 - precision)
    // The server had answered by then.
    let before = answered - observation.start.nanosecondsSinceEpoch + precision
    #expect(try #require(phases[nanoseconds: .processing]) <= before)
    #expect(try #require(observation.elapsedToFirstByte) <= before)
    #expect(phases[.transfer] != nil && phases[.queue] == nil)
  }

  /// For how long the queue is held once the server has answered, in milliseconds.
  private static let held = 100

  /// Makes a request. Returns when the server had answered it, too.
  private static func observe(
    holdsItself: Bool, isUpload: Bool
  ) async throws -> (observation: RequestObservation, answered: Int64) {
    let (arrived, isHeld, hasAnswered) = (Gate(), Gate(), Gate())
    let answered = Mutex<Int64>(0)
    let hold = QueueHold.url {
      isHeld.open()
      hasAnswered.waitBlocking()
      answered.withLock { $0 = Timestamp.now.nanosecondsSinceEpoch }
      _ = DispatchSemaphore(value: 0).wait(timeout: .now() + .milliseconds(Self.held))
    }
    let origin = try Origin { _ in
      [.signal(arrived), .hold(isHeld), .response(body: [1, 2, 3]), .signal(hasAnswered)]
    }
    let (tap, observer) = URLSessionTap.observed()
    let base = URLSessionConfiguration.ephemeral(with: QueueHold.self)
    let (session, other) = (tap.session(base), URLSession(configuration: base))
    defer { for one in [session, other] { one.invalidateAndCancel() } }
    let request = with(URLRequest(url: origin.url("/measured"))) {
      if isUpload { ($0.httpMethod, $0.httpBody) = ("POST", Data([1, 2, 3])) }
    }
    session.dataTask(with: request) { _, _, _ in }.resume()
    try await arrived.wait()
    (holdsItself ? session : other).dataTask(with: hold) { _, _, _ in }.resume()
    return (try await observer.ended(pathEnding: "/measured"), answered.withLock { $0 })
  }
}

import TestSupport

@testable import TapURLSession

/// Whose time it was: the server's, or that of this process, whose sessions share one queue.
struct LocalTimeTests {
  enum Holder: String, CaseIterable, Sendable { case nobody, sameSession, anotherSession }

  /// The response arrives while the queue is held: the server sends it only then, and the queue is let go
  /// after that.
  @Test(.needs(.sessionQueue), arguments: Holder.allCases, [false, true])
  func `a response that lies unread is not the server's time`(holder: Holder, isUpload: Bool) async throws {
    var answered: Int64?
    let observation = try await RequestObservation.sentOnce {
      let made = try await Self.observe(holder, isUpload: isUpload)
      answered = made.heldUntil
      return [made.observation]
    }[0]
    let phases = observation.timings
    #expect(observation.phaseSum == observation.elapsed, "\(phases)")
    let local = try #require(phases[nanoseconds: .local])
    let precision = TCPInfo.resolution
    if let answered {
      #expect(local >= Int64(Self.held) * 1_000_000 - precision, "\(phases)")
      // The server had answered by then.
      let before = answered - observation.start.nanosecondsSinceEpoch + precision
      #expect(try #require(phases[nanoseconds: .processing]) <= before)
      #expect(try #require(observation.elapsedToFirstByte) <= before)
    }
    #expect((answered == nil) == (holder == .nobody))
    #expect(phases[.processing] != nil && phases[.transfer] != nil && phases[.queue] == nil)
  }

  /// For how long the queue is held once the server has answered, in milliseconds.
  private static let held = 100

  /// Makes a request. Returns when the server had answered it, if the queue was held then.
  private static func observe(
    _ holder: Holder, isUpload: Bool
  ) async throws -> (observation: RequestObservation, heldUntil: Int64?) {
    let (arrived, goOn, answered) = (Gate(), Gate(), Gate())
    let heldUntil = Mutex<Int64?>(nil)
    let hold = QueueHold.url {
      goOn.open()
      answered.waitBlocking()
      heldUntil.withLock { $0 = Timestamp.now.nanosecondsSinceEpoch }
      _ = DispatchSemaphore(value: 0).wait(timeout: .now() + .milliseconds(Self.held))
    }
    let origin = try Origin { _ in
      [.signal(arrived), .hold(goOn), .response(body: [1, 2, 3]), .signal(answered)]
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
    if holder == .nobody {
      goOn.open()
    } else {
      (holder == .sameSession ? session : other).dataTask(with: hold) { _, _, _ in }.resume()
    }
    return (try await observer.ended(pathEnding: "/measured"), heldUntil.withLock { $0 })
  }
}

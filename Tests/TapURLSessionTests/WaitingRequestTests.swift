import TapURLSession
import TestSupport

/// Requests that Foundation never ends: seen as active, reported once, and ended with a cancel or the
/// session.
@Suite struct WaitingRequestTests {
  @Test(arguments: [Interruption.cancel, .invalidateAndCancel])
  func `a challenge that is not answered`(interruption: Interruption) async throws {
    let origin = try Origin { _ in
      [.response("401 Unauthorized", headers: [("WWW-Authenticate", "Basic realm=\"cellar\"")])]
    }
    let registry = Registry()
    let observer = RecordingObserver()
    let outbound = with(RequestConfiguration()) { $0.waitingLimit = .milliseconds(50) }
    let recorder = try RequestRecorder(registry: registry, outbound: outbound, consumers: [observer])
    let tap = URLSessionTap(recorder: recorder)
    func active() -> Bool {
      registry.text.split(separator: "\n")
        .contains { $0.hasPrefix("http_client_active_requests{") && $0.hasSuffix(" 1") }
    }

    // One that does not answer. Without a delegate the request ends, from Swift 6.3.2 on.
    let delegate = TranscriptDelegate(.init(answersChallenges: false), uploadBody: [])
    let session = tap.session(delegate: delegate)
    let done = Gate()
    let task = session.dataTask(with: origin.url()) { _, _, _ in done.open() }
    task.resume()
    // Without a request that follows: the recorder comes by itself.
    try await observer.waitForWaits(2)
    #expect(active())
    #expect(!done.isOpen)
    if interruption == .cancel { task.cancel() } else { session.invalidateAndCancel() }
    try await done.wait("the completion handler")
    try await observer.waitForEnds(1)
    #expect(observer.ended.map(\.end) == [.cancelled])
    let durations = observer.waits.map(\.duration)
    #expect(durations[0] >= .milliseconds(50))
    #expect(zip(durations, durations.dropFirst()).allSatisfy { $1 > $0 })
    #expect(observer.waits.allSatisfy { $0.request.client == "test" })
    #expect(!active())
  }
}

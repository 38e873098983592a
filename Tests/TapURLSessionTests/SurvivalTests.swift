import TapURLSession
import TestSupport

/// What ends a process of stock Foundation's, where the tap, or what is deployed with it, acts on that. Each runs in a process of
/// its own, which an alarm ends where Foundation hangs instead.
@Suite struct SurvivalTests {
  /// `_getProtocol` waits for the cache, and makes the three calls in a row once it has answered. The stop finds a task that
  /// runs and has no error: `stopLoading` in `NativeProtocol.swift`. Nine in ten such tasks end a stock process. If none does any
  /// more, take it out of the article *What the tap sees*, and the stop out of the tap.
  @Test(.serialized, arguments: [true, false])
  func `a tapped task that is resumed, suspended and resumed at once ends once, a stock one with its process`(
    isTapped: Bool
  ) async throws {
    try ExitValues.give("SurvivalTests", isTapped)
    await #expect(processExitsWith: isTapped ? .success : .failure) {
      let isTapped = try ExitValues.take("SurvivalTests", Bool.self)
      alarm(60)
      // No request ends before it is resumed again: a task that is suspended at its end may end the process, with a tap as well.
      let resumed = (0..<50).map { _ in Gate() }
      let origin = try Origin { request in [.hold(resumed[Int(request.path.dropFirst()) ?? 0]), .response()] }
      let (tap, observer) = URLSessionTap.observed()
      let session = URLSession(
        configuration: isTapped ? tap.sessionConfiguration(from: .ephemeral, client: "test") : .ephemeral)
      for (number, isResumed) in resumed.enumerated() {
        let done = Gate()
        let task = session.dataTask(with: origin.url("/\(number)")) { _, _, _ in done.open() }
        task.resume()
        task.suspend()
        task.resume()
        isResumed.open()
        try await done.wait("the completion")
        guard isTapped else { continue }
        tap.flush()
        try await observer.waitForEnds(number + 1)
      }
      guard isTapped else { return }
      #expect(observer.ended.map(\.end) == Array(repeating: .response(statusCode: 200), count: 50))
    }
  }

  /// The native loader opens the file of a download before it sends anything: `createTransferBodyDataDrain()` in
  /// `NativeProtocol.swift`. So dashboards/deploy has a `/tmp`.
  @Test func `a download ends the process where no temporary file can be made`() async {
    await #expect(
      processExitsWith: .failure,
      "fixed in Foundation: remove it of the articles What the tap sees and Deploying, and the /tmp out of dashboards/deploy"
    ) {
      alarm(20)
      setenv("TMPDIR", "/nowhere", 1)
      let origin = try Origin { _ in [.response()] }
      let request = URLRequest(url: origin.url())
      _ = try await Exchange(kind: .download, style: .completionHandler, request: request).run(.ephemeral)
    }
  }
}

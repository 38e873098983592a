import TapURLSession
import TestSupport

/// What ends a process of stock Foundation's, where the tap, or what is deployed with it, acts on that. Each
/// runs in a process of its own, which an alarm ends where Foundation hangs instead.
struct SurvivalTests {
  /// What an app does with a task at once.
  enum Way: String, Codable, CaseIterable, Sendable {
    case resumedTwice, resumedTwiceAndCancelled, suspendedAndCancelled, redirectedAndCancelled

    /// Whether a stock process survives none, or hardly any, of fifty.
    var endsStock: Bool { self != .redirectedAndCancelled }
  }

  /// `_getProtocol` waits for the cache, and makes the calls in a row once it has answered. The stop of the
  /// suspension finds a task that runs, or is being cancelled, and has no error: `stopLoading` in
  /// `NativeProtocol.swift`. Nine in ten such tasks end a stock process. If none does any more, take it out
  /// of the article *What ends a process*, and the stop out of the tap.
  @Test(
    .needs(.program),
    .serialized, arguments: Extent.isExtensive ? Way.allCases : [.resumedTwice, .suspendedAndCancelled],
    [true, false])
  func `a tapped task ends once, where a stock one ends with its process`(way: Way, isTapped: Bool)
    async throws
  {
    try ExitValues.give("SurvivalTests", way, isTapped)
    await #expect(processExitsWith: isTapped || !way.endsStock ? .success : .failure) {
      let (way, isTapped) = try ExitValues.take("SurvivalTests", Way.self, Bool.self)
      alarm(60)
      // No request ends before it is resumed again: a task that is suspended at its end may end the process,
      // with a tap as well.
      let resumed = (0..<50).map { _ in Gate() }
      let origin = try Origin { request in
        guard let number = Int(request.path.dropFirst()) else { return [.response()] }
        return way == .redirectedAndCancelled
          ? [.signal(resumed[number]), .redirect(to: "/end")] : [.hold(resumed[number]), .response()]
      }
      let (tap, observer) = URLSessionTap.observed()
      let session = URLSession(
        configuration: isTapped ? tap.sessionConfiguration(from: .ephemeral, client: "test") : .ephemeral)
      for (number, isResumed) in resumed.enumerated() {
        let done = Gate()
        var request = URLRequest(url: origin.url("/\(number)"))
        // A stock upload that is started twice has used its body up, and waits for ever.
        if way != .resumedTwice { (request.httpMethod, request.httpBody) = ("POST", Data([1, 2, 3])) }
        let task = session.dataTask(with: request) { _, _, _ in done.open() }
        task.resume()
        switch way {
        case .resumedTwice, .resumedTwiceAndCancelled:
          task.suspend()
          task.resume()
        case .suspendedAndCancelled: task.suspend()
        case .redirectedAndCancelled: try await isResumed.wait("the request")
        }
        if way != .resumedTwice { task.cancel() }
        isResumed.open()
        try await done.wait("the completion")
        guard isTapped else { continue }
        tap.flush()
        try await observer.waitForEnds(number + 1)
      }
      guard isTapped else { return }
      // A cancel that Foundation overtakes with the start goes out (`_satisfyProtocolRequest`), with a tap
      // and without.
      // And an upload that is started twice may fail before the cancel, since it has no body any more: so
      // with libcurl 8.23.
      let cutShort: [RequestEnd] = [.cancelled, .failure(.body, statusCode: nil)]
      let ends: [RequestEnd] = [.response(statusCode: 200)] + (way == .resumedTwice ? [] : cutShort)
      #expect(observer.ended.count == 50)
      expectEqual(observer.ended.map(\.end).filter { !ends.contains($0) }, [])
    }
  }

  /// The native loader opens the file of a download before it sends anything: `createTransferBodyDataDrain()`
  /// in `NativeProtocol.swift`. So dashboards/deploy has a `/tmp`.
  @Test(.needs(.program)) func `a download ends the process where no temporary file can be made`() async {
    await #expect(
      processExitsWith: .failure,
      """
      fixed in Foundation: take it out of the articles What ends a process and Deploying, and the /tmp out of \
      dashboards/deploy
      """
    ) {
      alarm(20)
      setenv("TMPDIR", "/nowhere", 1)
      let origin = try Origin { _ in [.response()] }
      let request = URLRequest(url: origin.url())
      _ = try await AppCall(kind: .download, style: .completionHandler, request: request).run(.ephemeral)
    }
  }
}

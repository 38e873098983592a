import TapURLSession
import TestSupport

/// What a loader reports after its end. Foundation's native loader does so when a task is cancelled at the
/// moment of its end, and Foundation's client ends the process if the task has left the session's registry by
/// then.
@Suite struct LateReportTests {
  /// Finishes at once, or fails, and can be made to report more.
  final class LateLoader: URLProtocol {
    /// Kept, as a native loader is by what libcurl still has for it.
    nonisolated(unsafe) static var last: LateLoader?

    override class func canInit(with request: URLRequest) -> Bool { request.url?.host == "late.test" }
    override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    override func startLoading() {
      Self.last = self
      guard let url = request.url,
        let response = HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: nil)
      else { return }
      if url.path == "/fails" {
        client?.urlProtocol(self, didFailWithError: URLError(.networkConnectionLost))
      } else {
        client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
        client?.urlProtocolDidFinishLoading(self)
      }
    }

    override func stopLoading() {}

    func reportAgain() {
      client?.urlProtocol(self, didFailWithError: URLError(.cancelled))
      client?.urlProtocol(self, didLoad: Data([1]))
      client?.urlProtocolDidFinishLoading(self)
    }
  }

  /// In a process of its own: without the tap's care the process ends.
  @Test(.serialized, arguments: ["/finishes", "/fails"])
  func `is dropped, and the request has ended once`(path: String) async throws {
    try ExitValues.give("LateReportTests", path)
    await #expect(processExitsWith: .success) {
      let path = try ExitValues.take("LateReportTests", String.self)
      let (tap, observer) = URLSessionTap.observed()
      let configuration = URLSessionConfiguration.ephemeral
      configuration.protocolClasses = [LateLoader.self]
      let session = URLSession(configuration: tap.sessionConfiguration(from: configuration, client: "late"))
      let url = try #require(URL(string: "http://late.test\(path)"))
      let done = Gate()
      let completions = Atomic<Int>(0)
      let task = session.dataTask(with: url) { _, _, _ in
        completions.add(1, ordering: .relaxed)
        done.open()
      }
      task.resume()
      try await done.wait("the completion handler")
      try await Poll.until("the task to leave the session") { await session.tasks().isEmpty }
      let loader = try #require(LateLoader.last)
      loader.reportAgain()
      _ = await session.tasks()
      #expect(completions.load(ordering: .relaxed) == 1)
      tap.flush()
      #expect(observer.started.count == 1)
      #expect(observer.ended.count == 1)
      withExtendedLifetime(task) {}
    }
  }
}

extension URLSession {
  fileprivate func tasks() async -> [URLSessionTask] {
    await withCheckedContinuation { continuation in getAllTasks { continuation.resume(returning: $0) } }
  }
}

import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension DemoRequest {
  /// Makes the request, and waits for its answer. The tap records failures. Here a failed call has an empty answer.
  func answer(to request: URLRequest, in session: URLSession) async -> DemoAnswer {
    await CancellableCall.run(cancelledAfter: self == .abandoned ? .milliseconds(200) : nil) {
      task(for: request, in: session, $0)
    }
  }

  private func task(
    for request: URLRequest, in session: URLSession, _ complete: @escaping @Sendable (DemoAnswer) -> Void
  ) -> URLSessionTask {
    @Sendable func answer(_ response: URLResponse?, _ error: (any Error)?, _ bytes: Int) -> DemoAnswer {
      guard error == nil, let response = response as? HTTPURLResponse else { return DemoAnswer() }
      return DemoAnswer(statusCode: response.statusCode, bytes: bytes)
    }
    if self == .report {
      return session.downloadTask(with: request) { complete(answer($1, $2, DemoOrigin.monthlyReportSize)) }
    }
    return session.dataTask(with: request) { complete(answer($1, $2, $0?.count ?? 0)) }
  }
}

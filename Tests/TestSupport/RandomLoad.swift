/// The app's side of random requests: a session whose tasks have handlers, and one that has a delegate.
package final class RandomLoad: Sendable {
  private let port: Int
  private let closedPort: Int
  private let plain: URLSession
  private let delegated: URLSession
  private let sender: RequestSender

  /// - Parameters:
  ///   - connections: To the server, of each session.
  ///   - tapped: The configuration that a tap makes of one, for the session of a client. A stock load has
  ///     none.
  package init(
    port: Int, closedPort: Int, connections: Int,
    tapped: ((URLSessionConfiguration, _ client: String) -> URLSessionConfiguration)?
  ) throws {
    (self.port, self.closedPort) = (port, closedPort)
    sender = try RequestSender()
    let stock = URLSessionConfiguration.ephemeral
    stock.httpMaximumConnectionsPerHost = connections
    plain = URLSession(configuration: tapped?(stock, "plain") ?? stock)
    delegated = URLSession(
      configuration: tapped?(stock, "delegated") ?? stock, delegate: CompletionDelegate(), delegateQueue: nil)
  }

  /// Starts a request.
  ///
  /// - Parameter resumes: Not, if it is to be cancelled before.
  /// - Returns: What cancels it.
  @discardableResult
  package func start(
    _ request: RandomRequest, resumes: Bool = true, whenDone done: @escaping @Sendable () -> Void
  ) -> @Sendable () -> Void {
    sender.start(
      request.urlRequest(port: port, closedPort: closedPort), request.kind, request.style,
      in: request.style == .delegate ? delegated : plain, resumes: resumes, whenDone: done)
  }

  package func end() {
    plain.finishTasksAndInvalidate()
    delegated.finishTasksAndInvalidate()
  }
}

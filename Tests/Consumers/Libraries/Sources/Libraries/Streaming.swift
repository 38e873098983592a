import Foundation
import FoundationNetworking

/// In the shape of the streaming half of a client for language models: an actor that makes a session with a
/// delegate for each stream of server-sent events.
package actor Streaming {
  private let url: URL

  package init(url: URL) { self.url = url }

  package func events() -> AsyncThrowingStream<String, any Error> {
    AsyncThrowingStream { continuation in
      let configuration = URLSessionConfiguration.default
      configuration.timeoutIntervalForRequest = 20
      let session = URLSession(
        configuration: configuration, delegate: Delegate(continuation), delegateQueue: nil)
      session.dataTask(with: url).resume()
      session.finishTasksAndInvalidate()
    }
  }

  /// On the session's serial queue alone.
  private final class Delegate: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private let continuation: AsyncThrowingStream<String, any Error>.Continuation
    private var text = ""

    init(_ continuation: AsyncThrowingStream<String, any Error>.Continuation) {
      self.continuation = continuation
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
      text += String(decoding: data, as: UTF8.self)
      while let end = text.firstRange(of: "\n\n") {
        continuation.yield(String(text[..<end.lowerBound]))
        text.removeSubrange(..<end.upperBound)
      }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
      continuation.finish(throwing: error)
    }
  }
}

import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking

  /// The part of a forwarder before a WebSocket delegate.
  protocol ForwardsWebSocket: ForwardingTaskDelegate, URLSessionWebSocketDelegate {
    var webSocketTarget: any URLSessionWebSocketDelegate { get }
  }

  extension ForwardsWebSocket {
    func urlSession(
      _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol protocol: String?
    ) {
      webSocketTarget.urlSession(session, webSocketTask: webSocketTask, didOpenWithProtocol: `protocol`)
    }

    func urlSession(
      _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
      didCloseWith closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?
    ) {
      webSocketTarget.urlSession(
        session, webSocketTask: webSocketTask, didCloseWith: closeCode, reason: reason)
    }
  }
#endif

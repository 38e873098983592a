import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Delegates that leave to Foundation's defaults whatever has one: a class for each set of conformances.
enum SilentDelegates {
  final class Plain: NSObject, URLSessionDelegate {}
  final class OfTasks: NSObject, URLSessionTaskDelegate {}
  final class OfData: NSObject, URLSessionDataDelegate {}

  /// The one callback that has no default.
  class OfDownloads: NSObject, URLSessionDownloadDelegate, @unchecked Sendable {
    func urlSession(
      _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {}
  }
  final class OfDataAndDownloads: OfDownloads, URLSessionDataDelegate, @unchecked Sendable {}

  /// On Linux the defaults of these callbacks are not public.
  class OfWebSockets: NSObject, URLSessionWebSocketDelegate, @unchecked Sendable {
    func urlSession(
      _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol protocol: String?
    ) {}
    func urlSession(
      _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
      didCloseWith closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?
    ) {}
  }
  final class OfDataAndWebSockets: OfWebSockets, URLSessionDataDelegate, @unchecked Sendable {}
  class OfDownloadsAndWebSockets: OfWebSockets, URLSessionDownloadDelegate, @unchecked Sendable {
    func urlSession(
      _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {}
  }
  final class OfEverything: OfDownloadsAndWebSockets, URLSessionDataDelegate, @unchecked Sendable {}

  static let all: [any URLSessionDelegate] = [
    Plain(), OfTasks(), OfData(), OfWebSockets(), OfDataAndWebSockets(), OfDownloads(), OfDataAndDownloads(),
    OfDownloadsAndWebSockets(), OfEverything(),
  ]
}

import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking

  /// One class for each set of conformances that a delegate can have.
  enum Forwarders {
    typealias DataAndDownload = URLSessionDataDelegate & URLSessionDownloadDelegate
    typealias DataAndWebSocket = URLSessionDataDelegate & URLSessionWebSocketDelegate
    typealias DownloadAndWebSocket = URLSessionDownloadDelegate & URLSessionWebSocketDelegate
    typealias Everything = DataAndDownload & URLSessionWebSocketDelegate

    /// The forwarder that has the delegate's conformances.
    static func forwarder(for delegate: any URLSessionDelegate) -> ForwardingDelegate {
      switch delegate {
      case let delegate as any Everything: ToEverything(delegate)
      case let delegate as any DataAndDownload: ToDataAndDownload(delegate)
      case let delegate as any DataAndWebSocket: ToDataAndWebSocket(delegate)
      case let delegate as any DownloadAndWebSocket: ToDownloadAndWebSocket(delegate)
      case let delegate as any URLSessionDataDelegate: ToData(delegate)
      case let delegate as any URLSessionDownloadDelegate: ToDownload(delegate)
      case let delegate as any URLSessionWebSocketDelegate: ToWebSocket(delegate)
      case let delegate as any URLSessionTaskDelegate: ForwardingTaskDelegate(delegate)
      default: ForwardingDelegate(delegate)
      }
    }

    private final class ToData: ForwardingTaskDelegate, ForwardsData, @unchecked Sendable {
      let dataTarget: any URLSessionDataDelegate

      init(_ target: any URLSessionDataDelegate) {
        dataTarget = target
        super.init(target)
      }
    }

    private final class ToDownload: ForwardingTaskDelegate, ForwardsDownload, @unchecked Sendable {
      let downloadTarget: any URLSessionDownloadDelegate

      init(_ target: any URLSessionDownloadDelegate) {
        downloadTarget = target
        super.init(target)
      }
    }

    private final class ToWebSocket: ForwardingTaskDelegate, ForwardsWebSocket, @unchecked Sendable {
      let webSocketTarget: any URLSessionWebSocketDelegate

      init(_ target: any URLSessionWebSocketDelegate) {
        webSocketTarget = target
        super.init(target)
      }
    }

    private final class ToDataAndDownload: ForwardingTaskDelegate, ForwardsData, ForwardsDownload,
      @unchecked Sendable
    {
      let target: any DataAndDownload
      var dataTarget: any URLSessionDataDelegate { target }
      var downloadTarget: any URLSessionDownloadDelegate { target }

      init(_ target: any DataAndDownload) {
        self.target = target
        super.init(target)
      }
    }

    private final class ToDataAndWebSocket: ForwardingTaskDelegate, ForwardsData, ForwardsWebSocket,
      @unchecked Sendable
    {
      let target: any DataAndWebSocket
      var dataTarget: any URLSessionDataDelegate { target }
      var webSocketTarget: any URLSessionWebSocketDelegate { target }

      init(_ target: any DataAndWebSocket) {
        self.target = target
        super.init(target)
      }
    }

    private final class ToDownloadAndWebSocket: ForwardingTaskDelegate, ForwardsDownload, ForwardsWebSocket,
      @unchecked Sendable
    {
      let target: any DownloadAndWebSocket
      var downloadTarget: any URLSessionDownloadDelegate { target }
      var webSocketTarget: any URLSessionWebSocketDelegate { target }

      init(_ target: any DownloadAndWebSocket) {
        self.target = target
        super.init(target)
      }
    }

    private final class ToEverything: ForwardingTaskDelegate, ForwardsData, ForwardsDownload,
      ForwardsWebSocket,
      @unchecked Sendable
    {
      let target: any Everything
      var dataTarget: any URLSessionDataDelegate { target }
      var downloadTarget: any URLSessionDownloadDelegate { target }
      var webSocketTarget: any URLSessionWebSocketDelegate { target }

      init(_ target: any Everything) {
        self.target = target
        super.init(target)
      }
    }
  }
#endif

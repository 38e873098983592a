import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking

  /// The part of a forwarder before a data delegate.
  protocol ForwardsData: ForwardingTaskDelegate, URLSessionDataDelegate {
    var dataTarget: any URLSessionDataDelegate { get }
  }

  extension ForwardsData {
    func urlSession(
      _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
      completionHandler: @Sendable @escaping (URLSession.ResponseDisposition) -> Void
    ) {
      headArrived(for: dataTask)
      dataTarget.urlSession(
        session, dataTask: dataTask, didReceive: response, completionHandler: completionHandler)
    }

    func urlSession(
      _ session: URLSession, dataTask: URLSessionDataTask, didBecome downloadTask: URLSessionDownloadTask
    ) {
      dataTarget.urlSession(session, dataTask: dataTask, didBecome: downloadTask)
    }

    func urlSession(
      _ session: URLSession, dataTask: URLSessionDataTask, didBecome streamTask: URLSessionStreamTask
    ) {
      dataTarget.urlSession(session, dataTask: dataTask, didBecome: streamTask)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
      delivered(Int64(data.count), to: dataTask)
      dataTarget.urlSession(session, dataTask: dataTask, didReceive: data)
    }

    func urlSession(
      _ session: URLSession, dataTask: URLSessionDataTask,
      willCacheResponse proposedResponse: CachedURLResponse,
      completionHandler: @Sendable @escaping (CachedURLResponse?) -> Void
    ) {
      dataTarget.urlSession(
        session, dataTask: dataTask, willCacheResponse: proposedResponse, completionHandler: completionHandler
      )
    }
  }
#endif

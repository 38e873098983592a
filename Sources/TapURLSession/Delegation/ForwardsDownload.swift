import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking

  /// The part of a forwarder before a download delegate.
  protocol ForwardsDownload: ForwardingTaskDelegate, URLSessionDownloadDelegate {
    var downloadTarget: any URLSessionDownloadDelegate { get }
  }

  extension ForwardsDownload {
    func urlSession(
      _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
      downloadTarget.urlSession(session, downloadTask: downloadTask, didFinishDownloadingTo: location)
    }

    func urlSession(
      _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
      totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
      delivered(bytesWritten, to: downloadTask)
      downloadTarget.urlSession(
        session, downloadTask: downloadTask, didWriteData: bytesWritten, totalBytesWritten: totalBytesWritten,
        totalBytesExpectedToWrite: totalBytesExpectedToWrite)
    }

    func urlSession(
      _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
      expectedTotalBytes: Int64
    ) {
      downloadTarget.urlSession(
        session, downloadTask: downloadTask, didResumeAtOffset: fileOffset,
        expectedTotalBytes: expectedTotalBytes)
    }
  }
#endif

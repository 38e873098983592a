import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Sends the requests of a tapped session with a session of its own, where the native loaders are out of reach.
///
/// That is so on Apple's platforms, whose URLSession cannot be tapped as on Linux: what a tap sees there it has to
/// send. The session has the settings of the tapped one, and the same cookies, credentials and cache, less the
/// tap. On Linux this is compiled and tested, and not used.
final class ForwardingSession: Sendable {
  private let session: URLSession
  private let router: TransferRouter

  /// - Parameter configuration: The tapped session's, without the tap.
  init(_ configuration: URLSessionConfiguration) {
    router = TransferRouter()
    session = URLSession(configuration: configuration, delegate: router, delegateQueue: nil)
  }

  /// The session lives as long as its requests.
  deinit { session.finishTasksAndInvalidate() }

  /// Sends a request, and tells the transfer what comes back.
  func send(_ request: URLRequest, for transfer: ForwardedTransfer) {
    let task = session.dataTask(with: request)
    guard transfer.begin(task) else { return task.cancel() }
    router.add(transfer, for: task)
    task.resume()
  }
}

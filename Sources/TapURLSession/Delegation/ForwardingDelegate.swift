import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking

  /// Stands before the delegate of a session and hands every call on, to learn what only delegates are told.
  ///
  /// Foundation on Linux asks a delegate by its conformances, so the one that stands before it must have exactly
  /// the same: ``Forwarders/forwarder(for:)`` chooses the class. What the delegate does not implement is answered by its
  /// own defaults.
  class ForwardingDelegate: NSObject, URLSessionDelegate, @unchecked Sendable {
    private let target: any URLSessionDelegate

    init(_ target: any URLSessionDelegate) {
      self.target = target
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
      target.urlSession(session, didBecomeInvalidWithError: error)
    }

    func urlSession(
      _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
      completionHandler: @Sendable @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
      target.urlSession(session, didReceive: challenge, completionHandler: completionHandler)
    }
  }
#endif

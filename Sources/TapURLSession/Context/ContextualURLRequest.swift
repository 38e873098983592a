import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A request that keeps a context through copies and changes.
///
/// `URLProtocol.setProperty` does not survive the bridge between `URLRequest` and `NSURLRequest` on Linux. What
/// does is the reference that a `URLRequest` stands on, as long as its copies are of the same class.
final class ContextualURLRequest: NSMutableURLRequest {
  let context: TapRequestContext?

  /// Whether the process has made any. To look for a context costs a copy of the request, which apps that use
  /// none need not pay.
  static var isInUse: Bool { used.load(ordering: .relaxed) }
  private static let used = Atomic<Bool>(false)

  init(copying source: NSURLRequest, context: TapRequestContext?) {
    self.context = context
    Self.used.store(true, ordering: .relaxed)
    super.init(
      url: source.url ?? URL(fileURLWithPath: "/"), cachePolicy: source.cachePolicy,
      timeoutInterval: source.timeoutInterval)
    if source.url == nil { url = nil }
    mainDocumentURL = source.mainDocumentURL
    networkServiceType = source.networkServiceType
    allowsCellularAccess = source.allowsCellularAccess
    httpShouldHandleCookies = source.httpShouldHandleCookies
    httpMethod = source.httpMethod ?? "GET"
    allHTTPHeaderFields = source.allHTTPHeaderFields
    // One of the two: setting either clears the other.
    if let stream = source.httpBodyStream { httpBodyStream = stream } else { httpBody = source.httpBody }
  }

  required init?(coder: NSCoder) {
    context = nil
    super.init(coder: coder)
  }

  override func copy(with zone: NSZone? = nil) -> Any {
    ContextualURLRequest(copying: self, context: context)
  }

  override func mutableCopy(with zone: NSZone? = nil) -> Any {
    ContextualURLRequest(copying: self, context: context)
  }
}

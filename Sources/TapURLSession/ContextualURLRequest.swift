import Synchronization
import TapFoundation

/// A request that keeps a context through copies and changes.
///
/// `URLProtocol.setProperty` does not survive the bridge between `URLRequest` and `NSURLRequest` on Linux.
/// The reference that a `URLRequest` stands on does, as long as its copies are of the same class.
final class ContextualURLRequest: NSMutableURLRequest {
  let context: TapRequestContext?

  /// Whether the process has made any. Looking for a context copies the request.
  static var isInUse: Bool { used.load(ordering: .relaxed) }
  private static let used = Atomic<Bool>(false)

  init(copying source: NSURLRequest, context: TapRequestContext?) {
    self.context = context
    Self.used.store(true, ordering: .relaxed)
    super.init(
      url: source.url ?? URL(fileURLWithPath: "/"), cachePolicy: source.cachePolicy,
      timeoutInterval: source.timeoutInterval)
    // The initialiser makes it absolute.
    url = source.url
    mainDocumentURL = source.mainDocumentURL
    networkServiceType = source.networkServiceType
    allowsCellularAccess = source.allowsCellularAccess
    httpShouldHandleCookies = source.httpShouldHandleCookies
    let copy: any PipelinedRequest = self
    if let source = source as? any PipelinedRequest {
      copy.httpShouldUsePipelining = source.httpShouldUsePipelining
    }
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
  override func mutableCopy(with zone: NSZone? = nil) -> Any { copy(with: zone) }

  /// An archive has the request, and no class of this module.
  override var classForCoder: AnyClass { NSMutableURLRequest.self }
}

/// `httpShouldUsePipelining`, which Foundation on Linux ignores and an app may read back. It is deprecated; a
/// protocol's requirement of that name avoids the warning.
protocol PipelinedRequest: AnyObject { var httpShouldUsePipelining: Bool { get set } }

extension NSMutableURLRequest: PipelinedRequest {}

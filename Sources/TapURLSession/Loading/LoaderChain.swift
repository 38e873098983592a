import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The protocol classes that stand behind ours, in the configuration's order.
struct LoaderChain: Sendable {
  private let classes: [URLProtocol.Type]
  /// The native loader, if it is the first of the classes: it takes every http and https request.
  private let nativeFirst: URLProtocol.Type?

  init(_ classes: [URLProtocol.Type]) {
    self.classes = classes
    nativeFirst = classes.first.flatMap { first in Self.nativeHTTP.flatMap { $0 == first ? first : nil } }
  }

  /// Which classes they are.
  var identifiers: [ObjectIdentifier] { classes.map { ObjectIdentifier($0) } }

  /// Whether one of the classes loads this request, and it is ours to observe.
  ///
  /// Only http and https are ours, in lowercase as the native loaders want them: a native WebSocket task casts its loader to the
  /// native class, and other schemes have no metrics here.
  ///
  /// - Parameter url: The text of the request's URL.
  func load(_ request: URLRequest, url: String) -> Bool {
    (url.hasPrefix("http:") || url.hasPrefix("https:")) && loader(for: request) != nil
  }

  /// The class that would load this http or https request if ours were not there, or `nil` if there is none.
  ///
  /// Without a class of the configuration's own that takes the request, Foundation falls back to the registered
  /// classes, which are not readable; the native loaders of `URLSessionConfiguration.default` stand for them.
  func loader(for request: URLRequest) -> URLProtocol.Type? {
    nativeFirst ?? classes.first { $0.canInit(with: request) }
      ?? Self.native.first { $0.canInit(with: request) }
  }

  /// The class of the app's own that would load this request.
  func ownLoader(for request: URLRequest) -> URLProtocol.Type? {
    classes.first { someClass in
      someClass.canInit(with: request) && !Self.native.contains { $0 == someClass }
    }
  }

  /// Whether no class loads the request: it has no scheme, or one in capitals that the native loader does not know, and no class
  /// of the app's own takes it.
  func refuses(_ request: URLRequest) -> Bool {
    let scheme = request.url?.scheme?.lowercased() ?? ""
    guard ["", "http", "https"].contains(scheme) else { return false }
    return !(classes + Self.native).contains { $0.canInit(with: request) }
  }

  /// The loaders that Foundation itself installs. Reachable through public API on Linux only.
  private static let native: [URLProtocol.Type] =
    (URLSessionConfiguration.default.protocolClasses ?? []).compactMap { $0 as? URLProtocol.Type }

  /// The one of them for http and https.
  static let nativeHTTP = URL(string: "http://localhost/").flatMap { url in
    native.first { $0.canInit(with: URLRequest(url: url)) }
  }
}

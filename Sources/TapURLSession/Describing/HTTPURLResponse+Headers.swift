import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension HTTPURLResponse {
  /// The header fields as text.
  var headers: [String: String] {
    var headers: [String: String] = [:]
    for case let (name as String, value as String) in allHeaderFields { headers[name] = value }
    return headers
  }
}

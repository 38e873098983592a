import Foundation

extension URL {
  /// Whether a host is this machine by one of its usual names (RFC 6761, section 6.3; RFC 1122, section
  /// 3.2.1.3; RFC 4291, section 2.5.3).
  static func isLoopback(host: String?) -> Bool {
    guard let host = host?.lowercased() else { return false }
    return host == "localhost" || host == "::1" || host == "[::1]" || host.hasPrefix("127.")
  }
}

import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension HTTPURLResponse {
  /// A 401 that names a scheme (RFC 9110, section 11.6.1): Foundation looks for credentials and may send the
  /// request again.
  var asksForCredentials: Bool {
    statusCode == 401 && value(forHTTPHeaderField: "WWW-Authenticate") != nil
  }
}

import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The sizes of bodies on the wire, as far as they are known; `nil` where they are not.
enum BodySizes {
  /// The bytes of the body that a task has sent.
  ///
  /// `countOfBytesExpectedToSend` is the length of a body in memory or in a file, and 0 for a stream. Foundation counts the
  /// bytes of a stream for tasks with a delegate; libcurl counts the framing of the chunks too.
  ///
  /// - Parameter account: libcurl's, if there is one.
  static func sent(by task: URLSessionTask?, method: String, account: TransferAccount?) -> Int64? {
    // A HEAD goes without its body, whatever the task carries, and a GET with a body is refused.
    if method == "HEAD" || method == "GET" { return 0 }
    guard let task else { return account?.sentBytes == 0 ? 0 : nil }
    let isLastLegOnly = account?.redirectCount ?? 0 > 0
    let expected = task.countOfBytesExpectedToSend
    if expected > 0 { return isLastLegOnly ? expected : account?.sentBytes ?? expected }
    if let account, account.sentBytes == 0, !isLastLegOnly { return 0 }
    let sent = task.countOfBytesSent
    // A further leg counts on from the first.
    if sent > 0 { return account == nil || isLastLegOnly ? nil : sent }
    return task.originalRequest?.httpBodyStream == nil ? 0 : nil
  }

  /// The bytes of the response's content as transferred (RFC 9110, section 8.6), by its headers and by what came by.
  static func received(method: String, response: HTTPURLResponse?, loadedBytes: Int64?) -> Int64? {
    guard let response else { return loadedBytes }
    // No content by definition (RFC 9110, sections 9.3.2, 15.3.5 and 15.4.5).
    if method == "HEAD" || response.statusCode == 204 || response.statusCode == 304 { return 0 }
    // A Transfer-Encoding overrides the Content-Length (RFC 9112, section 6.3).
    let isChunked = response.value(forHTTPHeaderField: "Transfer-Encoding") != nil
    // On Linux this is the Content-Length, whatever the coding.
    if !isChunked, response.expectedContentLength >= 0 { return response.expectedContentLength }
    // What arrives here of a coded body is decoded already: its size on the wire is another one.
    let coding = response.value(forHTTPHeaderField: "Content-Encoding") ?? "identity"
    return coding.isEmpty || coding.lowercased() == "identity" ? loadedBytes : nil
  }
}

extension HTTPURLResponse {
  /// A 401 that names a scheme (RFC 9110, section 11.6.1): Foundation looks for credentials and may send the
  /// request again.
  var asksForCredentials: Bool {
    statusCode == 401 && value(forHTTPHeaderField: "WWW-Authenticate") != nil
  }

  /// The header fields as text.
  var headers: [String: String] {
    var headers: [String: String] = [:]
    for case let (name as String, value as String) in allHeaderFields { headers[name] = value }
    return headers
  }
}

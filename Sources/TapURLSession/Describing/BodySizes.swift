import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The sizes of bodies on the wire, where a public signal tells them; `nil` where none does.
enum BodySizes {
  /// The bytes of the body that a task has sent.
  ///
  /// `countOfBytesExpectedToSend` is the length of a body in memory or in a file, and 0 for a stream, whose
  /// bytes Foundation counts only for tasks with a delegate.
  ///
  /// - Parameters:
  ///   - method: The request's.
  ///   - wasResent: The request went out again after a challenge.
  static func sent(by task: URLSessionTask, method: String, wasResent: Bool) -> Int64? {
    // A HEAD goes without its body, whatever the task carries, and a GET with a body is refused.
    if method == "HEAD" || method == "GET" { return 0 }
    let expected = task.countOfBytesExpectedToSend
    if expected > 0 { return expected }
    let sent = task.countOfBytesSent
    // A second leg counts on from the first.
    if sent > 0 { return wasResent ? nil : sent }
    return task.originalRequest?.httpBodyStream == nil ? 0 : nil
  }

  /// The bytes of the response's content as transferred (RFC 9110, section 8.6).
  static func received(
    method: String, statusCode: Int?, response: HTTPURLResponse?, loadedBytes: Int64?, downloadedBytes: Int64?
  ) -> Int64? {
    guard let response else { return loadedBytes }
    // No content by definition (RFC 9110, sections 9.3.2, 15.3.5 and 15.4.5).
    if method == "HEAD" || statusCode == 204 || statusCode == 304 { return 0 }
    // On Linux this is the Content-Length, whatever the coding. To look a field up by its name takes as long as to
    // record the whole request in the metrics, and waits until it decides something.
    let length = response.expectedContentLength
    var declared = length >= 0 ? length : nil
    if let declared, loadedBytes == declared { return declared }
    // A Transfer-Encoding overrides the Content-Length (RFC 9112, section 6.3).
    if declared != nil, response.value(forHTTPHeaderField: "Transfer-Encoding") != nil { declared = nil }
    // libcurl fails a transfer that does not match its Content-Length.
    if let declared, loadedBytes == nil { return declared }
    // What arrives here of a coded body is decoded already: its size on the wire is another one.
    let coding = response.value(forHTTPHeaderField: "Content-Encoding") ?? "identity"
    guard coding.isEmpty || coding.lowercased() == "identity" else { return declared }
    if let loadedBytes { return loadedBytes }
    return downloadedBytes.flatMap { $0 > 0 ? $0 : nil }
  }
}

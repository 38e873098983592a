import Foundation
import TapCore

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What a description is made of later.
///
/// A request is told of up to a tenth of a second after its end, on another thread. The `URLRequest` itself, with its
/// body, is not kept for that long. A class, since the relay and each tap's request hold it.
final class RequestOutline: Sendable {
  private let text: String
  /// Where the request goes at first. `nil` if its URL names no host.
  let host: ConnectionQueue.Host?
  private let port: Int
  let isSecure: Bool
  let method: String
  /// Of the request, or of the Swift task that made it.
  private let context: TapRequestContext?
  private let headers: [String: String]
  /// Whether anybody wants to see headers.
  let keepsHeaders: Bool

  /// - Parameters:
  ///   - taskContext: What the Swift task says that makes the request. What the request itself says wins.
  ///   - keepsHeaders: Whether anybody wants to see headers, of the response too.
  init(_ request: URLRequest, taskContext: TapRequestContext?, keepsHeaders: Bool) {
    let url = request.url
    text = url?.absoluteString ?? ""
    let authority = PlainAuthority(text)
    isSecure = text.hasPrefix("https:")
    let port = authority?.port ?? url?.port ?? (url?.scheme == "https" ? 443 : 80)
    self.port = port
    host = (authority?.host ?? url?.host).map { ConnectionQueue.Host(name: $0, port: port) }
    method = request.httpMethod ?? "GET"
    context = request.tapContext ?? taskContext
    headers = request.allHTTPHeaderFields ?? [:]
    self.keepsHeaders = keepsHeaders
  }

  /// Describes the request as the app made it. A template that is named wins over those that are searched.
  func description(client: String, templates: PathTemplates, keepsHeaders: Bool) -> RequestDescription {
    let traceparent = headers.first { Self.isTraceparent($0.key) }?.value
    return RequestDescription(
      client: client,
      method: method,
      url: text,
      serverAddress: host?.name,
      serverPort: port,
      urlTemplate: context?.urlTemplate ?? templates.template(forURL: text),
      traceContext: traceparent.flatMap(TraceContext.init(traceparent:)) ?? context?.traceContext,
      fields: context?.fields ?? [:],
      headers: keepsHeaders ? headers : [:])
  }

  /// In any case (RFC 9110, section 5.1), and without a copy in lowercase of each name, as Foundation's own search makes.
  private static func isTraceparent(_ name: String) -> Bool {
    let traceparent: StaticString = "traceparent"
    var name = name
    return name.withUTF8 { bytes in
      bytes.count == traceparent.utf8CodeUnitCount
        && bytes.indices.allSatisfy { bytes[$0] | 0x20 == traceparent.utf8Start[$0] }
    }
  }
}

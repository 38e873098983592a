import Foundation
import TapCore

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension RequestDescription {
  /// Describes a request as the app made it.
  init(_ request: URLRequest, client: String) {
    let url = request.url
    self.init(
      client: client,
      method: request.httpMethod ?? "GET",
      url: url?.absoluteString ?? "",
      serverAddress: url?.host,
      serverPort: url?.port ?? (url?.scheme == "https" ? 443 : 80),
      traceContext: request.value(forHTTPHeaderField: "traceparent").flatMap(TraceContext.init(traceparent:))
    )
  }
}

import Foundation
import TapCore

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension RequestDescription {
  /// Describes a request as the app made it. What the request itself says wins over the context of the Swift
  /// task, and a template that is named wins over those that are searched.
  init(
    _ request: URLRequest, client: String, templates: PathTemplates, taskContext: RequestContext?
  ) {
    let url = request.url
    let text = url?.absoluteString ?? ""
    let authority = PlainAuthority(text)
    let context = request.tapContext ?? taskContext
    let header = request.value(forHTTPHeaderField: "traceparent")
    self.init(
      client: client,
      method: request.httpMethod ?? "GET",
      url: text,
      serverAddress: authority?.host ?? url?.host,
      serverPort: authority?.port ?? url?.port ?? (url?.scheme == "https" ? 443 : 80),
      urlTemplate: context?.urlTemplate ?? templates.template(forURL: text),
      traceContext: header.flatMap(TraceContext.init(traceparent:)) ?? context?.traceContext,
      fields: context?.fields ?? [:])
  }
}

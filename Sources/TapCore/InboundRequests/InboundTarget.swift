/// The labels that a request has from its start: those of `http_server_active_requests`. As bounded as the known
/// methods are.
struct InboundTarget: Hashable {
  /// By its place among the known methods.
  let method: Int
  let scheme: InboundScheme

  init(method: Int, scheme: InboundScheme) {
    self.method = method
    self.scheme = scheme
  }

  /// The target of a number below the count of methods times that of schemes.
  init(number: Int) {
    method = number / InboundScheme.allCases.count
    scheme = InboundScheme(rawValue: number % InboundScheme.allCases.count) ?? .absent
  }

  @inline(__always)
  var number: Int { method &* InboundScheme.allCases.count &+ scheme.rawValue }

  /// The labels, by name. An empty value leaves its label out.
  func pairs(_ methods: KnownMethods) -> [Labels.Pair] {
    [
      Labels.Pair(name: "http_request_method", value: methods.name(method)),
      Labels.Pair(name: "url_scheme", value: scheme.text ?? ""),
    ]
  }
}

/// The labels that a request has from its start: those of `http_client_active_requests`.
struct RequestTarget: Sendable, Hashable {
  let client: String
  let method: String
  let address: String?
  let port: Int?

  /// Takes over what the labels may hold; every text is cut, so that a key has a bound.
  init(_ request: RequestDescription, methods: KnownMethods) {
    let limit = RenderedLabels.maximumValueLength
    client = String(request.client.prefix(utf8Length: limit))
    method = methods.normalize(request.method)
    address = request.serverAddress.map { String($0.prefix(utf8Length: limit)) }
    port = request.serverPort
  }

  /// The labels, by name.
  var pairs: [Labels.Pair] {
    [
      Labels.Pair(name: "client", value: client),
      Labels.Pair(name: "http_request_method", value: method),
      Labels.Pair(name: "server_address", value: address ?? ""),
      Labels.Pair(name: "server_port", value: port.map(String.init) ?? ""),
    ]
  }
}

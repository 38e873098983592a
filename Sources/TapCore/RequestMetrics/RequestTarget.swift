/// The labels that a request has from its start: those of `http_client_active_requests`.
///
/// A class, so that to compare it with a request copies nothing.
final class RequestTarget: Sendable {
  let client: String
  /// By its place among the known methods.
  let method: Int
  let address: String?
  let port: Int?

  /// Takes the values over, which must be within their limits.
  init(_ request: RequestDescription, method: Int) {
    client = request.client
    self.method = method
    address = request.serverAddress
    port = request.serverPort
  }

  /// Whether a request has this target.
  @inline(__always)
  func matches(_ request: RequestDescription, method: Int) -> Bool {
    self.method == method && port == request.serverPort && address == request.serverAddress
      && client == request.client
  }

  /// What requests of one target have in common.
  @inline(__always)
  static func hash(_ request: RequestDescription, method: Int) -> ShortHash {
    var hash = ShortHash()
    hash.combine(request.serverAddress)
    hash.combine(request.client)
    hash.combine(UInt64(truncatingIfNeeded: (request.serverPort ?? -1) &* 256 &+ method))
    return hash
  }

  /// The labels, by name. An empty value leaves its label out.
  func pairs(_ methods: KnownMethods) -> [Labels.Pair] {
    [
      Labels.Pair(name: "client", value: client),
      Labels.Pair(name: "http_request_method", value: methods.name(method)),
      Labels.Pair(name: "server_address", value: address ?? ""),
      Labels.Pair(name: "server_port", value: port.map(String.init) ?? ""),
    ]
  }
}

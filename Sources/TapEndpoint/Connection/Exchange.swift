/// What an answer must know of its request.
struct Exchange: Sendable {
  /// Counts the requests of a connection, so that a late answer finds no other request.
  let id: UInt64
  let isHead: Bool
  let minorVersion: Int
  /// Whether the connection stands behind the answer.
  private(set) var keepsAlive: Bool

  init(id: UInt64, _ request: EndpointRequest) {
    self.id = id
    isHead = request.method == .head
    minorVersion = request.minorVersion
    keepsAlive = request.keepsAlive
  }

  func keepingAlive(_ keepsAlive: Bool) -> Exchange {
    var exchange = self
    exchange.keepsAlive = keepsAlive
    return exchange
  }
}

/// What the handler tells.
extension Connection {
  /// The handler's answer. An answer to a request that is no longer waited for is ignored.
  package mutating func answer(_ response: EndpointResponse, to id: UInt64, at moment: Moment) {
    guard case .answering(let exchange) = phase, exchange.id == id else { return }
    guard !response.resetsConnection else {
      phase = .closed(reset: true)
      return
    }
    var response = response
    if !(200...999).contains(response.status.rawValue) {
      response = .refusal(.internalServerError, "the handler's status is no final one")
    }
    let framing = ResponseEncoder.framing(response, minorVersion: exchange.minorVersion)
    let keepsAlive =
      exchange.keepsAlive && !response.closesConnection && !isDraining
      && (framing != .close || exchange.isHead)
    append(
      ResponseEncoder.head(
        response, framing: framing, minorVersion: exchange.minorVersion, keepsAlive: keepsAlive,
        date: moment.date),
      at: moment)
    let isBodySent = !exchange.isHead && framing != .none
    switch response.body {
    case .bytes(let bytes):
      if isBodySent { append(bytes, at: moment) }
      finish(keepsAlive: keepsAlive)
    case .stream where isBodySent:
      let remaining: Int? = if case .length(let length) = framing { length } else { nil }
      phase = .streaming(exchange.keepingAlive(keepsAlive), remaining: remaining)
    case .stream:
      finish(keepsAlive: keepsAlive)
    }
  }

  /// A part of a streamed body.
  package mutating func bodyPart(_ bytes: [UInt8], of id: UInt64, at moment: Moment) {
    guard case .streaming(let exchange, let remaining) = phase, exchange.id == id, !bytes.isEmpty else {
      return
    }
    setWait(.answer, at: moment)
    guard let remaining else {
      append(exchange.minorVersion > 0 ? ResponseEncoder.chunk(bytes) : bytes, at: moment)
      return
    }
    guard bytes.count <= remaining else {
      phase = .closed(reset: true)
      return
    }
    append(bytes, at: moment)
    phase = .streaming(exchange, remaining: remaining - bytes.count)
  }

  /// A streamed body is complete, or has failed.
  package mutating func bodyEnded(of id: UInt64, complete: Bool, at moment: Moment) {
    guard case .streaming(let exchange, let remaining) = phase, exchange.id == id else { return }
    guard complete, remaining ?? 0 == 0 else {
      phase = .closed(reset: true)
      return
    }
    if remaining == nil, exchange.minorVersion > 0 { append(ResponseEncoder.lastChunk, at: moment) }
    finish(keepsAlive: exchange.keepsAlive)
  }
}

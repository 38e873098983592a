import TapCore

extension RequestObservation {
  /// What observers are told of an end. Sizes are those of a whole transfer only.
  init(
    of request: consuming RequestDescription, start: RequestStart, end: RequestEnd, at instant: Instant,
    facts: TransferFacts
  ) {
    let elapsed = start.elapsed(to: instant)
    guard case .response = end else {
      self.init(request: request, start: start.timestamp, elapsed: elapsed, end: end)
      return
    }
    self.init(
      request: request, start: start.timestamp, elapsed: elapsed, end: end,
      requestBodySize: facts.requestBodySize, responseBodySize: facts.responseBodySize,
      elapsedToFirstByte: facts.headInstant.map(start.elapsed(to:)), resendCount: facts.resendCount,
      isFromCache: facts.isFromCache, responseHeaders: facts.responseHeaders)
  }
}

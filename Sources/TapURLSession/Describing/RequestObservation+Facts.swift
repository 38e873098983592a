import TapCore

extension RequestObservation {
  /// What observers receive for an end.
  init(
    of request: consuming RequestDescription, start: RequestStart, end: RequestEnd, at instant: Instant,
    report: TransferReport, keepsHeaders: Bool
  ) {
    self.init(
      request: request, start: start.timestamp, elapsed: start.elapsed(to: instant), end: end,
      requestBodySize: report.requestBodySize, responseBodySize: report.responseBodySize,
      elapsedToFirstByte: report.firstByte.map { max(0, start.elapsed(to: $0)) },
      timings: report.timings, protocolVersion: report.protocolVersion, peerAddress: report.peerAddress,
      openedConnections: report.openedConnections, isConnectionReused: report.isConnectionReused,
      resendCount: report.resendCount, isFromCache: report.isFromCache,
      responseHeaders: keepsHeaders ? report.responseHeaders : [:])
  }
}

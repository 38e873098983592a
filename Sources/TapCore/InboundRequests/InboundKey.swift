/// The labels that an inbound request has at its end: those of the histograms.
///
/// A class, so that to compare it with an observation copies nothing.
final class InboundKey: RequestSeriesKey {
  private let target: InboundTarget
  private let statusCode: Int?
  private let failure: RequestErrorType?
  private let errorType: String?
  private let route: String?

  init(_ observation: InboundObservation, target: InboundTarget) {
    self.target = target
    statusCode = observation.end.validStatusCode
    failure = observation.end.failure
    errorType = observation.errorType
    route = observation.route
  }

  @inline(__always)
  func matches(_ observation: InboundObservation, target: InboundTarget) -> Bool {
    statusCode == observation.end.validStatusCode && failure == observation.end.failure
      && self.target == target && route == observation.route
  }

  /// What observations with these labels have in common.
  @inline(__always)
  static func hash(_ observation: InboundObservation, target: InboundTarget) -> UInt64 {
    var hash = ShortHash()
    hash.combine(observation.route)
    let failed: UInt64 = observation.end.failure == nil ? 0 : 1_024
    let end = UInt64(truncatingIfNeeded: observation.end.validStatusCode ?? 0) | failed
    hash.combine(UInt64(truncatingIfNeeded: target.number) << 16 | end)
    return hash.value
  }

  func pairs(_ methods: KnownMethods) -> [Labels.Pair] {
    let pairs =
      target.pairs(methods) + [
        Labels.Pair(name: "error_type", value: errorType ?? ""),
        Labels.Pair(name: "http_response_status_code", value: statusCode.map(String.init) ?? ""),
        Labels.Pair(name: "http_route", value: route ?? ""),
      ]
    return pairs.sorted { $0.name < $1.name }
  }
}

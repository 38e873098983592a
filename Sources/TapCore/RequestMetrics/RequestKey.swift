/// The labels that a request has at its end: those of the histograms.
///
/// A class, so that to compare it with an observation copies nothing. Its target is the number of the method: all else is in
/// the observation.
final class RequestKey: RequestSeriesKey {
  let target: RequestTarget
  private let statusCode: Int?
  private let failure: RequestErrorType?
  private let template: String?
  private let isFromCache: Bool
  private let protocolVersion: NetworkProtocolVersion?

  init(_ observation: RequestObservation, target method: Int) {
    target = RequestTarget(observation.request, method: method)
    statusCode = observation.end.validStatusCode
    failure = observation.end.failure
    template = observation.request.urlTemplate
    isFromCache = observation.isFromCache
    protocolVersion = observation.protocolVersion
  }

  @inline(__always)
  func matches(_ observation: RequestObservation, target method: Int) -> Bool {
    statusCode == observation.end.validStatusCode && failure == observation.end.failure
      && isFromCache == observation.isFromCache && protocolVersion == observation.protocolVersion
      && template == observation.request.urlTemplate
      && target.matches(observation.request, method: method)
  }

  /// What observations with these labels have in common.
  @inline(__always)
  static func hash(_ observation: RequestObservation, start: ShortHash) -> UInt64 {
    var hash = start
    hash.combine(observation.request.urlTemplate)
    let failed: UInt64 = observation.end.failure == nil ? 0 : 1_024
    let cached: UInt64 = observation.isFromCache ? 2_048 : 0
    let version = observation.protocolVersion?.number ?? 0
    hash.combine(
      UInt64(truncatingIfNeeded: observation.end.validStatusCode ?? 0) | failed | cached | version << 12)
    return hash.value
  }

  func pairs(_ methods: KnownMethods) -> [Labels.Pair] {
    let pairs =
      target.pairs(methods) + [
        Labels.Pair(name: "cache", value: isFromCache ? "hit" : ""),
        Labels.Pair(name: "error_type", value: errorType ?? ""),
        Labels.Pair(name: "http_response_status_code", value: statusCode.map(String.init) ?? ""),
        Labels.Pair(name: "network_protocol_version", value: protocolVersion?.rawValue ?? ""),
        Labels.Pair(name: "url_template", value: template ?? ""),
      ]
    return pairs.sorted { $0.name < $1.name }
  }

  /// OpenTelemetry HTTP conventions, `error.type`: the status code of a response that is an error, the class of
  /// a failure, and absent on success.
  private var errorType: String? {
    if let failure { return failure.rawValue }
    return statusCode.flatMap { $0 >= 400 ? String($0) : nil }
  }
}

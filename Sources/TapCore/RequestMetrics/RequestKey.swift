/// The labels that a request has at its end: those of the histograms.
///
/// A class, so that to compare it with an observation copies nothing.
final class RequestKey: Sendable {
  let target: RequestTarget
  private let statusCode: Int?
  private let failure: RequestErrorType?
  private let template: String?
  private let isFromCache: Bool

  /// Takes the values over, which must be within their limits.
  init(_ observation: RequestObservation, method: Int) {
    target = RequestTarget(observation.request, method: method)
    statusCode = observation.end.validStatusCode
    failure = observation.end.failure
    template = observation.request.urlTemplate
    isFromCache = observation.isFromCache
  }

  /// Whether an observation has these labels.
  @inline(__always)
  func matches(_ observation: RequestObservation, method: Int) -> Bool {
    statusCode == observation.end.validStatusCode && failure == observation.end.failure
      && isFromCache == observation.isFromCache && template == observation.request.urlTemplate
      && target.matches(observation.request, method: method)
  }

  /// What observations with these labels have in common.
  @inline(__always)
  static func hash(_ observation: RequestObservation, target: ShortHash) -> UInt64 {
    var hash = target
    hash.combine(observation.request.urlTemplate)
    let failed: UInt64 = observation.end.failure == nil ? 0 : 1_024
    let cached: UInt64 = observation.isFromCache ? 2_048 : 0
    hash.combine(UInt64(truncatingIfNeeded: observation.end.validStatusCode ?? 0) | failed | cached)
    return hash.value
  }

  /// The labels, by name. An empty value leaves its label out.
  func pairs(_ methods: KnownMethods) -> [Labels.Pair] {
    let pairs =
      target.pairs(methods) + [
        Labels.Pair(name: "cache", value: isFromCache ? "hit" : ""),
        Labels.Pair(name: "error_type", value: errorType ?? ""),
        Labels.Pair(name: "http_response_status_code", value: statusCode.map(String.init) ?? ""),
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

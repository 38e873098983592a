/// The labels that a request has at its end: those of the three histograms.
struct RequestKey: Sendable, Hashable {
  let target: RequestTarget
  private let statusCode: Int?
  private let failure: RequestErrorType?
  private let template: String?

  init(_ observation: RequestObservation, methods: KnownMethods) {
    target = RequestTarget(observation.request, methods: methods)
    // What is no status code (RFC 9110, section 15) would only make series.
    statusCode = observation.end.statusCode.flatMap { (100...599).contains($0) ? $0 : nil }
    failure = if case .failure(let type, _) = observation.end { type } else { nil }
    template = observation.request.urlTemplate.map {
      String($0.prefix(utf8Length: RenderedLabels.maximumValueLength))
    }
  }

  /// The labels, by name. An empty value leaves its label out.
  var pairs: [Labels.Pair] {
    let pairs =
      target.pairs + [
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

  func hash(into hasher: inout Hasher) {
    // The names of few clients and methods tell little apart; equality sees to them.
    hasher.combine(target.address)
    hasher.combine(statusCode)
    hasher.combine(template)
    hasher.combine(target.client)
  }
}

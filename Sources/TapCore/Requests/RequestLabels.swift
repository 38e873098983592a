/// The labels that a request has from its begin: those of the gauge of active requests.
struct TargetLabels: Hashable, Sendable {
  /// The hash of all that follows, computed once for two tables.
  private let hash: Int
  let client: String
  /// Of the known ones, or `_OTHER`.
  let method: String
  let address: String?
  let port: Int?
  /// Of the known ones, of inbound requests only.
  let scheme: String?

  /// What is too long to be a label is cut, so that a key has a bound. The request is borrowed: an initializer gets a copy by
  /// default.
  init(_ request: borrowing RequestDescription, _ methods: KnownMethods) {
    client = request.client.asLabel
    method = methods.label(of: request.method)
    address = request.serverAddress?.asLabel
    port = request.serverPort
    scheme = request.direction == .inbound ? request.knownScheme : nil
    var hasher = Hasher()
    hasher.combine(client)
    hasher.combine(method)
    hasher.combine(address)
    hasher.combine(port)
    hasher.combine(scheme)
    hash = hasher.finalize()
  }

  func hash(into hasher: inout Hasher) { hasher.combine(hash) }

  var server: ServerLabels { ServerLabels(client: client, address: address, port: port) }

  fileprivate var pairs: [Labels.Pair] {
    server.pairs + [
      Labels.Pair(name: "http_request_method", value: method),
      Labels.Pair(name: "url_scheme", value: scheme ?? ""),
    ]
  }

  var rendered: RenderedLabels { RenderedLabels(sorting: pairs) }
}

/// The labels that a request has at its end: those of the histograms.
struct EndLabels: Hashable, Sendable {
  private let target: TargetLabels
  private let statusCode: Int?
  private let failure: RequestErrorType?
  private let template: String?
  private let isFromCache: Bool
  private let protocolVersion: NetworkProtocolVersion?
  private let direction: RequestDirection

  init(_ observation: borrowing RequestObservation, _ target: TargetLabels) {
    self.target = target
    // What is no status code (RFC 9110, section 15) would only make series.
    statusCode = observation.end.statusCode.flatMap { (100...599).contains($0) ? $0 : nil }
    failure = if case .failure(let type, _) = observation.end { type } else { nil }
    template = observation.request.urlTemplate?.asLabel
    isFromCache = observation.isFromCache
    protocolVersion = observation.protocolVersion
    direction = observation.request.direction
  }

  /// Properties with few values are only compared.
  func hash(into hasher: inout Hasher) {
    hasher.combine(target)
    hasher.combine(statusCode ?? 0)
    hasher.combine(template ?? "")
  }

  /// - Parameter errorType: That of an observation with these labels.
  func rendered(errorType: String?) -> RenderedLabels {
    RenderedLabels(
      sorting: target.pairs + [
        Labels.Pair(name: "cache", value: isFromCache ? "hit" : ""),
        Labels.Pair(name: "error_type", value: errorType ?? ""),
        Labels.Pair(name: "http_response_status_code", value: statusCode.map(String.init) ?? ""),
        Labels.Pair(name: "network_protocol_version", value: protocolVersion?.rawValue ?? ""),
        Labels.Pair(name: direction == .inbound ? "http_route" : "url_template", value: template ?? ""),
      ])
  }
}

/// The labels of what belongs to a server and not to a request.
struct ServerLabels: Hashable, Sendable {
  let client: String
  let address: String?
  let port: Int?

  var pairs: [Labels.Pair] {
    [
      Labels.Pair(name: "client", value: client),
      Labels.Pair(name: "server_address", value: address ?? ""),
      Labels.Pair(name: "server_port", value: port.map(String.init) ?? ""),
    ]
  }
}

/// The labels of a phase's duration.
struct PhaseLabels: Hashable, Sendable {
  let server: ServerLabels
  let template: String?
  let phase: RequestTimings.Phase

  var rendered: RenderedLabels {
    RenderedLabels(
      sorting: server.pairs + [
        Labels.Pair(name: "phase", value: phase.rawValue),
        Labels.Pair(name: "url_template", value: template ?? ""),
      ])
  }
}

extension RenderedLabels {
  /// - Parameter pairs: In any order. An empty value leaves its label out.
  init(sorting pairs: [Labels.Pair]) {
    self.init(pairs.sorted { $0.name < $1.name })
  }
}

extension String {
  /// The text as the value of a label: cut where it is too long for one.
  package var asLabel: String {
    utf8.count <= RenderedLabels.maximumValueLength
      ? self : String(prefix(utf8Length: RenderedLabels.maximumValueLength))
  }
}

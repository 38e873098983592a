/// The labels of requests, as the keys of their series.
///
/// What is too long to be a label is cut, so that a key has a bound.
enum RequestLabels {
  /// Who asks whom: the labels of what belongs to a server and not to a request.
  struct Server: Hashable, Sendable {
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

    var rendered: RenderedLabels { RenderedLabels(pairs) }
  }

  /// What is known at the begin: the labels of the gauge of active requests.
  struct Target: Hashable, Sendable {
    let server: Server
    /// Of the known ones, or `_OTHER`.
    let method: String
    /// Of the known ones, of inbound requests only.
    let scheme: String?

    /// The request is borrowed: an initializer gets a copy by default.
    init(_ request: borrowing RequestDescription, _ methods: KnownMethods) {
      server = Server(
        client: request.client.asLabel, address: request.serverAddress?.asLabel, port: request.serverPort)
      method = methods.label(of: request.method)
      scheme = request.direction == .inbound ? request.knownScheme : nil
    }

    fileprivate var pairs: [Labels.Pair] {
      server.pairs + [
        Labels.Pair(name: "http_request_method", value: method),
        Labels.Pair(name: "url_scheme", value: scheme ?? ""),
      ]
    }

    var rendered: RenderedLabels { RenderedLabels(sorting: pairs) }
  }

  /// What a request came to.
  struct Outcome: Hashable, Sendable {
    private let statusCode: Int?
    private let failure: RequestErrorType?
    let template: String?
    private let isFromCache: Bool
    private let protocolVersion: NetworkProtocolVersion?

    init(_ observation: borrowing RequestObservation) {
      // What is no status code (RFC 9110, section 15) would only make series.
      statusCode = observation.end.statusCode.flatMap { (100...599).contains($0) ? $0 : nil }
      failure = if case .failure(let type, _) = observation.end { type } else { nil }
      template = observation.request.urlTemplate?.asLabel
      isFromCache = observation.isFromCache
      protocolVersion = observation.protocolVersion
    }

    fileprivate func pairs(_ direction: RequestDirection) -> [Labels.Pair] {
      let status = statusCode.map(String.init) ?? ""
      let isError = statusCode.map(direction.isError) ?? false
      return [
        Labels.Pair(name: "cache", value: isFromCache ? "hit" : ""),
        Labels.Pair(name: "error_type", value: failure?.rawValue ?? (isError ? status : "")),
        Labels.Pair(name: "http_response_status_code", value: status),
        Labels.Pair(name: "network_protocol_version", value: protocolVersion?.rawValue ?? ""),
        Labels.Pair(name: direction == .inbound ? "http_route" : "url_template", value: template ?? ""),
      ]
    }
  }

  /// The labels of the histograms of ended requests.
  struct End: Hashable, Sendable {
    let target: Target
    let outcome: Outcome

    func rendered(_ direction: RequestDirection) -> RenderedLabels {
      RenderedLabels(sorting: target.pairs + outcome.pairs(direction))
    }
  }

  /// The labels of a phase's duration.
  struct Phase: Hashable, Sendable {
    let server: Server
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
}

extension RenderedLabels {
  /// - Parameter pairs: In any order. An empty value leaves its label out.
  fileprivate init(sorting pairs: [Labels.Pair]) {
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

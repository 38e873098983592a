/// The labels of requests, one type for each table of ``RequestColumns``. They are the keys of the tables,
/// except that ends and phases have keys that are shorter (``RequestStore``).
///
/// Long values are cut, so that a key has a bound. The values of a label are a closed set, come from the
/// app's code, or are bounded by the limit of the table.
enum RequestLabels {
  /// A value of a closed or bounded set that is none of it (OpenTelemetry conventions).
  static let other = "_OTHER"

  /// The client: the labels of all request metrics.
  struct Client: RequestLabelSet {
    let client: String

    init(_ request: borrowing RequestDescription) { client = request.client.asLabel }

    var pairs: [(String, String)] { [("client", client)] }
  }

  /// The client and the server: the labels of connections and phases.
  struct Server: RequestLabelSet {
    let client: Client
    let address: String?
    let port: Int?

    init(_ request: borrowing RequestDescription) {
      client = Client(request)
      address = request.serverAddress?.asLabel
      port = request.serverPort
    }

    var pairs: [(String, String)] {
      client.pairs + [("server_address", address ?? ""), ("server_port", port.map(String.init) ?? "")]
    }
  }

  /// What is known at the begin.
  struct Target: RequestLabelSet {
    let server: Server
    /// Of the known ones, or `_OTHER`.
    let method: String
    /// Of the known ones, of inbound requests only.
    let scheme: String?
    /// Of outbound requests only, if it is known at the begin.
    let template: String?

    init(_ request: borrowing RequestDescription) {
      server = Server(request)
      method = request.methodLabel
      let isInbound = request.direction == .inbound
      scheme = isInbound ? request.knownScheme : nil
      template = isInbound ? nil : request.urlTemplate?.asLabel
    }

    /// Hashes only what differs most: each further text takes as long as recording a value.
    func hash(into hasher: inout Hasher) {
      hasher.combine(server.address)
      hasher.combine(server.port)
      hasher.combine(server.client.client)
      if let template { hasher.combine(template) }
    }

    /// The template at the end may be another.
    fileprivate var pairsWithoutTemplate: [(String, String)] {
      server.pairs + [("http_request_method", method), ("url_scheme", scheme ?? "")]
    }

    var pairs: [(String, String)] { pairsWithoutTemplate + [("url_template", template ?? "")] }
  }

  /// What is known at the end beside the target.
  struct Outcome: Hashable, Sendable {
    private let statusCode: Int?
    private let failure: RequestErrorType?
    let template: String?
    private let isFromCache: Bool
    private let protocolVersion: NetworkProtocolVersion?

    init(_ observation: borrowing RequestObservation) {
      // A cancelled request has its status in the log only: with the label it would count as answered.
      let status = observation.end == .cancelled ? nil : observation.statusCode
      // A status code has three digits (RFC 9110, section 15). Others would only make series.
      statusCode = status.flatMap { (100...999).contains($0) ? $0 : nil }
      failure = if case .failure(let type, _) = observation.end { type } else { nil }
      template = observation.request.urlTemplate?.asLabel
      isFromCache = observation.isFromCache
      protocolVersion = observation.protocolVersion
    }

    /// Hashes only what differs most: each further value, or an enum's case, takes as long as recording a
    /// value.
    func hash(into hasher: inout Hasher) {
      hasher.combine(statusCode)
      hasher.combine(template)
    }

    fileprivate func pairs(_ direction: RequestDirection) -> [(String, String)] {
      let status = statusCode.map(String.init) ?? ""
      let isError = statusCode.map(direction.isError) ?? false
      return [
        ("cache", isFromCache ? "hit" : ""), ("error_type", failure?.rawValue ?? (isError ? status : "")),
        ("http_response_status_code", status), ("network_protocol_version", protocolVersion?.rawValue ?? ""),
        (direction == .inbound ? "http_route" : "url_template", template ?? ""),
      ]
    }
  }

  struct End: RequestLabelSet {
    let direction: RequestDirection
    let target: Target
    let outcome: Outcome

    var pairs: [(String, String)] { target.pairsWithoutTemplate + outcome.pairs(direction) }
  }

  struct Phase: RequestLabelSet {
    let server: Server
    let template: String?
    let phase: RequestTimings.Phase

    var pairs: [(String, String)] {
      server.pairs + [("phase", phase.rawValue), ("url_template", template ?? "")]
    }
  }

  /// The route of served requests within which there were calls.
  struct Route: RequestLabelSet {
    let route: String?

    var pairs: [(String, String)] { [("http_route", route ?? "")] }
  }

  /// The route of served requests, and the client of their calls.
  struct Upstream: RequestLabelSet {
    let route: String?
    let client: String

    var pairs: [(String, String)] { [("client", client), ("http_route", route ?? "")] }
  }
}

protocol RequestLabelSet: Hashable, Sendable {
  /// In any order. An empty value omits its label.
  var pairs: [(String, String)] { get }
}

extension RequestLabelSet {
  var rendered: RenderedLabels { RenderedLabels(Labels(pairs).pairs) }
}

extension String {
  /// The text as a label's value: cut if it is too long.
  package var asLabel: String {
    utf8.count <= RenderedLabels.maximumValueLength
      ? self : String(prefix(utf8Length: RenderedLabels.maximumValueLength))
  }
}

import Synchronization

/// What is counted and measured of requests that share labels.
package enum RequestSeries {
  /// The requests for one target. One that has begun keeps it: its end counts there, whatever has expired or overflowed since.
  package final class Target: Sendable {
    /// The most ends that are found without a look-up.
    private static let endLimit = 8

    private struct Found {
      var ends: [End] = []
      var server: Server?
    }

    let labels: RequestLabels.Target
    let counts: Counts
    let client: Counts
    private let found = Mutex(Found())

    init(_ labels: RequestLabels.Target, _ counts: Counts, _ client: Counts) {
      self.labels = labels
      self.counts = counts
      self.client = client
    }

    /// Most requests come to the same as the one before: what is asked for is the first from then on. What shares the
    /// overflow series is not remembered: another time there may be room.
    func end(
      _ labels: RequestLabels.Outcome, find: () -> (element: End, isShared: Bool)
    ) -> (element: End, isShared: Bool) {
      found.withLock { found in
        if let index = found.ends.firstIndex(where: { $0.labels == labels }) {
          if index > 0 { found.ends.swapAt(0, index) }
          return (found.ends[0], false)
        }
        let (end, isShared) = find()
        if isShared { return (end, true) }
        if found.ends.count == Self.endLimit { found.ends.removeLast() }
        found.ends.append(end)
        return (end, false)
      }
    }

    /// Finds the series of the target's server.
    func server(find: () -> (element: Server, isShared: Bool)) -> Server {
      found.withLock { found in
        if let server = found.server { return server }
        let (server, isShared) = find()
        if !isShared { found.server = server }
        return server
      }
    }

    /// Lets go of all series, so that those that expire are freed.
    func forget() { found.withLock { $0 = Found() } }
  }

  /// What is counted of a target, or of a client. Targets without room share one.
  final class Counts: Sendable {
    struct Values {
      var started: UInt64 = 0
      var ended: UInt64 = 0
      var cancelled: UInt64 = 0
      private(set) var redirects: UInt64 = 0

      var active: UInt64 { started &- ended }

      /// A counter never goes down: at the end of its range it stays.
      mutating func addRedirects(_ count: UInt64) {
        let (sum, isTooLarge) = redirects.addingReportingOverflow(count)
        redirects = isTooLarge ? .max : sum
      }
    }

    let values = Mutex(Values())
  }

  /// What ended requests have in common that came to the same.
  final class End: Sendable {
    struct Histograms {
      var byFamily: [Registry.Histogram?]
      /// By the place of their phase, as far as they are found.
      var phases = noPhases
    }

    let labels: RequestLabels.Outcome
    let histograms: Mutex<Histograms>

    init(_ labels: RequestLabels.Outcome, histogramCount: Int) {
      self.labels = labels
      histograms = Mutex(Histograms(byFamily: Array(repeating: nil, count: histogramCount)))
    }

    /// Lets go of the phases, so that those that expire are freed.
    func forget() { histograms.withLock { $0.phases = Self.noPhases } }

    private static let noPhases = [Registry.Histogram?](
      repeating: nil, count: RequestTimings.Phase.allCases.count)
  }

  /// What connections to a server were like.
  final class Server: Sendable {
    struct Instruments {
      /// A number that changes with every record.
      var activity: UInt64 = 0
      var connections: Registry.Counter?
      var roundTrip: Registry.Histogram?
      var retransmissions: Registry.Counter?
    }

    let instruments = Mutex(Instruments())
  }
}

/// The labels of requests, as the keys of their series.
///
/// What is too long to be a label is cut, so that a key has a bound.
enum RequestLabels {
  /// Who asks whom: the labels of what belongs to a server and not to a request.
  struct Server: RequestLabelSet {
    let client: String
    let address: String?
    let port: Int?

    var pairs: [(String, String)] {
      [("client", client), ("server_address", address ?? ""), ("server_port", port.map(String.init) ?? "")]
    }
  }

  /// What is known at the begin: the labels of the gauge of active requests.
  struct Target: RequestLabelSet {
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

    /// Whether the labels of a request are certainly these: it has all of them as its own values, which need no change.
    func fit(_ request: borrowing RequestDescription) -> Bool {
      server.client == request.client && server.address == request.serverAddress
        && server.port == request.serverPort && method == request.method && scheme == request.scheme
    }

    var pairs: [(String, String)] {
      server.pairs + [("http_request_method", method), ("url_scheme", scheme ?? "")]
    }
  }

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

  /// The labels of the histograms of ended requests.
  struct End: RequestLabelSet {
    let direction: RequestDirection
    let target: Target
    let outcome: Outcome

    var pairs: [(String, String)] { target.pairs + outcome.pairs(direction) }
  }

  struct Phase: RequestLabelSet {
    let server: Server
    let template: String?
    let phase: RequestTimings.Phase

    var pairs: [(String, String)] {
      server.pairs + [("phase", phase.rawValue), ("url_template", template ?? "")]
    }
  }
}

protocol RequestLabelSet: Hashable, Sendable {
  /// In any order. An empty value leaves its label out.
  var pairs: [(String, String)] { get }
}

extension RequestLabelSet {
  var rendered: RenderedLabels { RenderedLabels(Labels(pairs).pairs) }
}

extension String {
  /// The text as the value of a label: cut where it is too long for one.
  package var asLabel: String {
    utf8.count <= RenderedLabels.maximumValueLength
      ? self : String(prefix(utf8Length: RenderedLabels.maximumValueLength))
  }
}

/// The request methods that appear as themselves; any other is `_OTHER` (OpenTelemetry HTTP conventions,
/// `http.request.method`). Methods are case-sensitive (RFC 9110, section 9.1).
package struct KnownMethods: Sendable {
  /// Those of RFC 9110, section 9.3, PATCH (RFC 5789) and QUERY.
  package static let standard = [
    "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY",
  ]

  /// The most names that count: they are labels of series.
  private static let limit = 256
  private static let other = "_OTHER"

  private let names: [String]

  /// Takes the first 256 of the names that can be a label of their own: a name that is empty, longer than a label's value or
  /// `_OTHER` itself would share its series with others.
  package init(_ names: [String]) {
    let usable = names.lazy.filter { name in
      !name.isEmpty && name.utf8.count <= RenderedLabels.maximumValueLength && name != Self.other
    }
    self.names = Array(usable.prefix(Self.limit))
  }

  /// The label of a method.
  package func label(of method: String) -> String {
    // A method that the app reads from elsewhere may be of any length: a longer one is not compared.
    method.utf8.count <= RenderedLabels.maximumValueLength && names.contains(method) ? method : Self.other
  }
}

/// Chooses the requests that are recorded, of any client. What it does not choose goes as if there were no tap.
///
/// ```swift
/// configuration.outbound.filter = !.hosts(["metadata.internal"])
/// configuration.inbound.filter = RequestFilter { $0.method != "OPTIONS" }
/// ```
///
/// It is asked where a request begins: for a URLSession's within `resume()`, under a lock of Foundation's. So it must be quick, and
/// must touch no URLSession.
public struct RequestFilter: Sendable {
  private let predicate: (@Sendable (RequestDescription) -> Bool)?

  private init(_ predicate: (@Sendable (RequestDescription) -> Bool)?) {
    self.predicate = predicate
  }

  /// Chooses what the closure says. Of a URLSession's request it sees the headers too, save those of the session's
  /// `httpAdditionalHeaders`, which Foundation on Linux adds later.
  public init(_ predicate: @escaping @Sendable (RequestDescription) -> Bool) {
    self.predicate = predicate
  }

  /// Every request.
  public static let all = RequestFilter(nil)

  /// The requests for these hosts: whole names in any case. A name does not stand for those below it, and a port is
  /// not looked at. A request that the app serves has none.
  public static func hosts(_ hosts: Set<String>) -> RequestFilter {
    let hosts = Set(hosts.map { $0.lowercased() })
    return RequestFilter { $0.serverAddress.map { hosts.contains($0.lowercased()) } ?? false }
  }

  /// The requests whose path, percent-decoded, begins with one of these texts: `/api` takes `/api/users`, and `/apiary`
  /// too.
  public static func paths(_ prefixes: [String]) -> RequestFilter {
    RequestFilter { request in
      let path = request.path
      return prefixes.contains { path.hasPrefix($0) }
    }
  }

  /// The requests of these clients: the names that sessions and adapters were given.
  public static func clients(_ names: Set<String>) -> RequestFilter {
    RequestFilter { names.contains($0.client) }
  }

  /// The requests that the filter does not choose.
  public static prefix func ! (filter: RequestFilter) -> RequestFilter {
    RequestFilter { !filter.includes($0) }
  }

  /// The requests that both choose.
  public func and(_ other: RequestFilter) -> RequestFilter {
    RequestFilter { includes($0) && other.includes($0) }
  }

  /// Whether the filter chooses this request.
  public func includes(_ request: RequestDescription) -> Bool { predicate?(request) ?? true }

  /// Whether every request is chosen: then none needs to be described for the question.
  package var isAll: Bool { predicate == nil }
}

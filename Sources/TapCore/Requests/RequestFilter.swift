/// Chooses the requests that are recorded. Requests that the filter excludes are sent unobserved.
///
/// ```swift
/// configuration.outbound.filter = !.hosts(["metadata.internal"])
/// configuration.inbound.filter = RequestFilter { $0.method != "OPTIONS" }
/// ```
///
/// The filter runs where a request begins: for a URLSession, within `resume()`, under a lock of Foundation.
/// It must be quick, and must not use a URLSession.
public struct RequestFilter: Sendable {
  private let predicate: (@Sendable (RequestDescription) -> Bool)?

  private init(_ predicate: (@Sendable (RequestDescription) -> Bool)?) {
    self.predicate = predicate
  }

  /// Chooses the requests for which the closure returns `true`. For a URLSession's request the closure sees
  /// the headers, except for the session's `httpAdditionalHeaders`, which Foundation on Linux adds later.
  public init(_ predicate: @escaping @Sendable (RequestDescription) -> Bool) {
    self.predicate = predicate
  }

  /// Chooses every request.
  public static let all = RequestFilter(nil)

  /// Chooses the requests for these hosts: whole names, in upper or lower case. A name does not include its
  /// subdomains, and ports are ignored. A request that the app serves has no host.
  public static func hosts(_ hosts: Set<String>) -> RequestFilter {
    let hosts = Set(hosts.map { $0.lowercased() })
    return RequestFilter { $0.serverAddress.map { hosts.contains($0.lowercased()) } ?? false }
  }

  /// Chooses the requests whose path, percent-decoded, begins with one of these prefixes: `/api` matches
  /// `/api/users`, and `/apiary` too.
  public static func paths(_ prefixes: [String]) -> RequestFilter {
    RequestFilter { request in
      let path = request.path
      return prefixes.contains { path.hasPrefix($0) }
    }
  }

  /// Chooses the requests of these clients, by the names of sessions and adapters.
  public static func clients(_ names: Set<String>) -> RequestFilter {
    RequestFilter { names.contains($0.client) }
  }

  /// Chooses the requests that the filter does not choose.
  public static prefix func ! (filter: RequestFilter) -> RequestFilter {
    RequestFilter { !filter.includes($0) }
  }

  /// Chooses the requests that both filters choose.
  public func and(_ other: RequestFilter) -> RequestFilter {
    RequestFilter { includes($0) && other.includes($0) }
  }

  /// Whether the filter chooses this request.
  public func includes(_ request: RequestDescription) -> Bool { predicate?(request) ?? true }

  /// Whether every request is chosen: then none needs to be described for the question.
  package var isAll: Bool { predicate == nil }
}

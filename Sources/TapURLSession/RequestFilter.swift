#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

/// Chooses the requests that a tap records. What it does not choose goes as if there were no tap.
///
/// A filter is asked within `resume()`, under a lock of Foundation's: it must be quick, and must touch no
/// URLSession.
public struct RequestFilter: Sendable {
  private let predicate: @Sendable (URLRequest) -> Bool

  /// Chooses what the closure says.
  public init(_ predicate: @escaping @Sendable (URLRequest) -> Bool) {
    self.predicate = predicate
  }

  /// Every request.
  public static let all = RequestFilter { _ in true }

  /// The requests for these hosts: whole names in any case. A name does not stand for those below it, and a port is
  /// not looked at.
  public static func hosts(_ hosts: Set<String>) -> RequestFilter {
    let hosts = Set(hosts.map { $0.lowercased() })
    return RequestFilter { $0.url?.host.map { hosts.contains($0.lowercased()) } ?? false }
  }

  /// The requests whose path, percent-decoded, begins with one of these texts: `/api` takes `/api/users`, and `/apiary`
  /// too.
  public static func paths(_ prefixes: [String]) -> RequestFilter {
    RequestFilter { request in
      let path = request.url?.path ?? ""
      return prefixes.contains { path.hasPrefix($0) }
    }
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
  public func includes(_ request: URLRequest) -> Bool { predicate(request) }
}

import Foundation
import SessionTap

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The kinds of requests in the demo's traffic.
enum DemoRequest: CaseIterable {
  case product, search, order, report, recommendations, login, token, missing, warehouse, abandoned, legacy
  case refused

  /// How often each comes up among the others, alone or as a burst.
  private var weight: Int {
    switch self {
    case .product: 40
    case .search: 18
    case .order: 12
    case .recommendations: 12
    case .login, .missing: 4
    case .token: 6
    case .warehouse, .abandoned, .legacy: 2
    case .report, .refused: 1
    }
  }

  /// How many come at once.
  var burst: Int { self == .report ? 6 : 1 }

  private static let lots = allCases.flatMap { Array(repeating: $0, count: $0.weight) }

  /// One kind, drawn by its weight.
  static func random() -> DemoRequest { lots.randomElement() ?? .product }

  /// The client, that is the session, which makes the request.
  var client: DemoClient {
    switch self {
    case .order, .login: .accounts
    case .warehouse, .legacy, .refused, .abandoned: .warehouse
    case .report: .reports
    case .token: .tokens
    default: .catalogue
    }
  }

  /// The request. `nil` only if the origin's URL cannot be composed.
  func request(to origin: URL) -> URLRequest? {
    let path =
      switch self {
      case .product:
        "/products/\(Int.random(in: 1...500))?currency=EUR&token=\(UInt32.random(in: 0 ... .max))"
      case .search: "/search?q=oat%20milk"
      case .order: "/orders"
      case .report: "/reports/monthly.csv"
      case .recommendations: "/recommendations"
      case .login: "/login"
      case .token: "/token"
      case .missing: "/no/such/page"
      case .warehouse, .abandoned: "/warehouse"
      case .legacy: "/legacy"
      case .refused: "http://127.0.0.1:1/"
      }
    let isByName = client == .accounts || client == .tokens
    guard let url = URL(string: path, relativeTo: isByName ? Self.byName(origin) : origin) else { return nil }
    var request = URLRequest(url: url.absoluteURL)
    request.setTrace(.random())
    if self == .order {
      request.httpMethod = "POST"
      request.setValue("application/json", forHTTPHeaderField: "Content-Type")
      request.httpBody = Data(#"{"product":17,"count":\#(Int.random(in: 1...9))}"#.utf8)
    }
    return request
  }

  /// The origin under another name, so that there is more than one host to tell apart.
  private static func byName(_ origin: URL) -> URL {
    var components = URLComponents(url: origin, resolvingAgainstBaseURL: false)
    components?.host = "localhost"
    return components?.url ?? origin
  }

  /// How long the caller waits before it cancels. `nil` for as long as it takes.
  var patience: Duration? { self == .abandoned ? .milliseconds(200) : nil }
}

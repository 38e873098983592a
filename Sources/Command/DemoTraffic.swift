import Foundation
import SessionTap

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Makes requests at a steady rate.
struct DemoTraffic: Sendable {
  private let sessions: [DemoClient: URLSession]
  private let origin: URL

  init(tap: Tap, origin: URL) {
    self.origin = origin
    sessions = Dictionary(
      uniqueKeysWithValues: DemoClient.allCases.map { client in
        let configuration = tap.sessionConfiguration(from: client.configuration, client: client.rawValue)
        return (client, URLSession(configuration: configuration))
      })
  }

  /// Makes requests until the task is cancelled or so many are made, and waits for those under way.
  func run(rate: Int, limit: Int?) async {
    let start = ContinuousClock.now
    await withDiscardingTaskGroup { group in
      var made = 0
      while made < limit ?? .max, !Task.isCancelled {
        let kind = DemoRequest.random()
        for _ in 0..<min(kind.burst, (limit ?? .max) - made) {
          group.addTask { await make(kind) }
          made += 1
        }
        // By the schedule and not by the last request, so that the rate holds.
        let next = start + .seconds(Double(made) / Double(rate))
        if (try? await Task.sleep(until: next)) == nil { break }
      }
    }
    for session in sessions.values { session.finishTasksAndInvalidate() }
  }

  private func make(_ kind: DemoRequest) async {
    guard let session = sessions[kind.client], let request = kind.request(to: origin) else { return }
    let work = Task {
      if kind == .report {
        let (file, _) = try await session.download(for: request)
        try? FileManager.default.removeItem(at: file)
      } else {
        _ = try await session.data(for: request)
      }
    }
    let impatience = kind.patience.map { patience in
      Task {
        try await Task.sleep(for: patience)
        work.cancel()
      }
    }
    // Failures are what the demo shows: the tap has recorded them.
    _ = await withTaskCancellationHandler {
      await work.result
    } onCancel: {
      work.cancel()
    }
    impatience?.cancel()
  }
}

/// The sessions of the demo, by the name that is given to the factory.
enum DemoClient: String, CaseIterable {
  case catalogue, accounts, warehouse
  /// Has two connections for bursts of slow bodies: its requests wait for one.
  case reports
  /// Opens a connection for each request: its server closes them.
  case tokens

  /// The settings of the session.
  var configuration: URLSessionConfiguration {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.timeoutIntervalForRequest = self == .warehouse ? 2 : 10
    configuration.httpMaximumConnectionsPerHost = self == .reports ? 2 : 32
    return configuration
  }
}

/// The kinds of requests in the demo's traffic.
enum DemoRequest: CaseIterable {
  case product, search, order, report, recommendations, login, token, missing, warehouse, abandoned, legacy
  case refused

  /// The relative frequency, of single requests or bursts.
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

  /// The number of requests at once.
  var burst: Int { self == .report ? 6 : 1 }

  private static let weighted = allCases.flatMap { Array(repeating: $0, count: $0.weight) }

  /// A kind, chosen by its weight.
  static func random() -> DemoRequest { weighted.randomElement() ?? .product }

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

  /// The origin under another name, so that the demo has more than one host.
  private static func byName(_ origin: URL) -> URL {
    var components = URLComponents(url: origin, resolvingAgainstBaseURL: false)
    components?.host = "localhost"
    return components?.url ?? origin
  }

  /// How long the caller waits before it cancels. `nil` for as long as it takes.
  var patience: Duration? { self == .abandoned ? .milliseconds(200) : nil }
}

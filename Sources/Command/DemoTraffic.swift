import Foundation
import SessionTap

/// The traffic of the demo's app: it serves pages, and makes requests for them at a steady rate.
struct DemoTraffic: Sendable {
  private let tap: Tap
  private let sessions: [DemoClient: URLSession]
  private let origin: URL
  private let hasFaults: Bool

  init(tap: Tap, origin: URL, hasFaults: Bool) {
    (self.tap, self.origin, self.hasFaults) = (tap, origin, hasFaults)
    sessions = Dictionary(
      uniqueKeysWithValues: DemoClient.allCases.map {
        ($0, tap.session(client: $0.rawValue, configuration: $0.configuration))
      })
  }

  /// Makes requests until the task is cancelled or so many are made, and waits for the active ones.
  func run(rate: Int, limit: Int?) async {
    let start = ContinuousClock.now
    let pages = hasFaults ? DemoPage.withFaults : DemoPage.withoutFaults
    await withDiscardingTaskGroup { group in
      var made = 0
      while made < limit ?? .max, !Task.isCancelled {
        let page = DemoPage.random(from: pages)
        let calls = page.calls.prefix((limit ?? .max) - made)
        group.addTask { await serve(page, by: Array(calls)) }
        made += calls.count
        // By the schedule and not by the last request, so that the rate holds.
        let next = start + .seconds(Double(made) / Double(rate))
        if (try? await Task.sleep(until: next)) == nil { break }
      }
    }
    for session in sessions.values { session.finishTasksAndInvalidate() }
  }

  /// What the middleware of a server does: records the request, and lets what is behind it continue the
  /// trace.
  private func serve(_ page: DemoPage, by calls: [DemoRequest]) async {
    // Addresses for documentation (RFC 5737).
    let inbound = tap.inbound.begin(
      method: page.method, path: page.path(), scheme: "http",
      clientAddress: "192.0.2.\(Int.random(in: 1...254))")
    inbound.add(["user.id": .string("u\(Int.random(in: 1...20))")])
    let answers = await TraceContext.$current.withValue(inbound.trace) {
      await withTaskGroup(of: (Int, DemoAnswer).self) { group in
        for (number, call) in calls.enumerated() { group.addTask { (number, await answer(to: call)) } }
        return await group.reduce(into: Array(repeating: DemoAnswer(), count: calls.count)) {
          $0[$1.0] = $1.1
        }
      }
    }
    if Task.isCancelled { return inbound.cancel() }
    page.end(inbound, with: answers)
  }

  /// Makes the request, and waits for its answer. The tap records failures. Here a failed call has an empty
  /// answer.
  private func answer(to kind: DemoRequest) async -> DemoAnswer {
    guard let session = sessions[kind.client], let request = kind.request(to: origin) else {
      return DemoAnswer()
    }
    @Sendable func answer(_ response: URLResponse?, _ error: (any Error)?, _ bytes: Int) -> DemoAnswer {
      guard error == nil, let response = response as? HTTPURLResponse else { return DemoAnswer() }
      return DemoAnswer(statusCode: response.statusCode, bytes: bytes)
    }
    return await cancellableCall(cancelledAfter: kind.cancelledAfter) { done in
      kind == .report
        ? session.downloadTask(with: request) { done(answer($1, $2, DemoOrigin.monthlyReport.count)) }
        : session.dataTask(with: request) { done(answer($1, $2, $0?.count ?? 0)) }
    }
  }
}

/// The sessions of the demo, by the name that is given to the factory.
enum DemoClient: String, CaseIterable {
  case catalogue, accounts, warehouse
  /// Has two connections for bursts of slow bodies: its requests wait for one.
  case reports
  /// Opens a connection for each request: its server closes them.
  case tokens

  var configuration: URLSessionConfiguration {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.timeoutIntervalForRequest = self == .warehouse ? 2 : 10
    configuration.httpMaximumConnectionsPerHost = self == .reports ? 2 : 32
    return configuration
  }
}

/// A kind of request that the demo's app makes.
struct DemoRequest: Hashable {
  static let product = DemoRequest(.catalogue, "/products/{id}?currency=EUR&token={token}")
  static let search = DemoRequest(.catalogue, "/search?q=oat%20milk")
  static let recommendations = DemoRequest(.catalogue, "/recommendations")
  static let missing = DemoRequest(.catalogue, "/no/such/page")
  static let order = DemoRequest(.accounts, "/orders")
  static let login = DemoRequest(.accounts, "/login")
  static let report = DemoRequest(.reports, "/reports/monthly.csv")
  /// A response in pieces to a request with a body.
  static let chosenReport = DemoRequest(.accounts, "/reports/monthly.csv")
  static let token = DemoRequest(.tokens, "/token")
  static let warehouse = DemoRequest(.warehouse, "/warehouse")
  static let abandoned = DemoRequest(.warehouse, "/warehouse", cancelledAfter: .milliseconds(200))
  static let legacy = DemoRequest(.warehouse, "/legacy")
  static let refused = DemoRequest(.warehouse, "http://127.0.0.1:1/")

  let client: DemoClient
  private let target: String
  let cancelledAfter: Duration?

  private init(_ client: DemoClient, _ target: String, cancelledAfter: Duration? = nil) {
    (self.client, self.target, self.cancelledAfter) = (client, target, cancelledAfter)
  }

  /// The request. `nil` only if the origin's URL cannot be composed.
  func request(to origin: URL) -> URLRequest? {
    let target = target.replacing("{id}", with: "\(Int.random(in: 1...500))")
      .replacing("{token}", with: "\(UInt32.random(in: 0 ... .max))")
    // The origin under another name, so that the demo has more than one host.
    let isByName = client == .accounts || client == .tokens
    var base = URLComponents(url: origin, resolvingAgainstBaseURL: false)
    if isByName { base?.host = "localhost" }
    guard let url = URL(string: target, relativeTo: base?.url) else { return nil }
    var request = URLRequest.traced(url.absoluteURL)
    if self == .order || self == .chosenReport {
      request.httpMethod = "POST"
      request.setValue("application/json", forHTTPHeaderField: "Content-Type")
      request.httpBody = Data(#"{"product":17,"count":\#(Int.random(in: 1...9))}"#.utf8)
    }
    return request
  }
}

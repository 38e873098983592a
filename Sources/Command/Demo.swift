import Foundation
import SessionTap

/// The traffic of the demo's app: it serves pages, and makes requests for them at a steady rate.
struct Demo: Sendable {
  private let tap: Tap
  private let sessions: [DemoClient: URLSession]
  private let origin: URL
  private let pages: [DemoPage]

  init(tap: Tap, origin: URL, hasFaults: Bool) {
    (self.tap, self.origin) = (tap, origin)
    pages = DemoPage.common + (hasFaults ? DemoPage.withFaults : DemoPage.withoutFaults)
    sessions = Dictionary(
      uniqueKeysWithValues: DemoClient.allCases.map {
        ($0, tap.session(client: $0.rawValue, configuration: $0.configuration))
      })
  }

  /// Makes requests until the task is cancelled or `limit` is reached, and waits for the active ones.
  func run(rate: Int, limit: Int?) async {
    let start = ContinuousClock.now
    await withDiscardingTaskGroup { group in
      var made = 0
      while made < limit ?? .max, !Task.isCancelled {
        let page = DemoPage.random(from: pages)
        let calls = page.calls.prefix((limit ?? .max) - made)
        group.addTask { await serve(page, by: Array(calls)) }
        made += calls.count
        // By a schedule and not by the last request, so that the rate is kept.
        let next = start + .seconds(Double(made) / Double(rate))
        if (try? await Task.sleep(until: next)) == nil { break }
      }
    }
    for session in sessions.values { session.finishTasksAndInvalidate() }
  }

  /// What a server's middleware does: records the request, and continues the trace in the calls. The first
  /// call decides how the page ends.
  private func serve(_ page: DemoPage, by calls: [DemoRequest]) async {
    // Addresses for documentation (RFC 5737).
    let inbound = tap.inbound.begin(
      method: page.method, path: page.path(), scheme: "http",
      clientAddress: "192.0.2.\(Int.random(in: 1...254))")
    inbound.add(["user.id": .string("u\(Int.random(in: 1...20))")])
    let responses = await TraceContext.$current.withValue(inbound.trace) {
      await withTaskGroup(of: (Int, DemoResponse?).self) { group in
        for (number, call) in calls.enumerated() { group.addTask { (number, await response(to: call)) } }
        return await group.reduce(into: [Int: DemoResponse]()) { $0[$1.0] = $1.1 }
      }
    }
    let body = responses.values.reduce(0) { $0 + $1.bytes }
    switch (calls.first, responses[0]?.statusCode) {
    case _ where Task.isCancelled: inbound.cancel()
    case (.abandoned, _): inbound.cancel(route: page.route)
    case (.legacy, _):
      // The head has gone out before the origin broke off.
      inbound.fail(.connectionLost, statusCode: 200, route: page.route, responseBodySize: body)
    case (_, let upstream):
      let statusCode = upstream.map { $0 < 400 ? 200 : $0 == 404 ? 404 : 502 } ?? 504
      inbound.end(
        statusCode: statusCode, route: page.route, requestBodySize: page.method == "POST" ? 48 : 0,
        responseBodySize: statusCode < 400 ? body + 2_048 : 128)
    }
  }

  /// Makes the request, and waits for its response: `nil` if it fails, which the tap records.
  private func response(to kind: DemoRequest) async -> DemoResponse? {
    guard let session = sessions[kind.client], let request = kind.request(to: origin) else { return nil }
    @Sendable func read(_ response: URLResponse?, _ error: (any Error)?, _ bytes: Int) -> DemoResponse? {
      guard error == nil, let response = response as? HTTPURLResponse else { return nil }
      return DemoResponse(statusCode: response.statusCode, bytes: bytes)
    }
    return await cancellableCall(cancelledAfter: kind.cancelledAfter) { done in
      kind == .report
        ? session.downloadTask(with: request) { done(read($1, $2, DemoOrigin.monthlyReport.count)) }
        : session.dataTask(with: request) { done(read($1, $2, $0?.count ?? 0)) }
    }
  }
}

private struct DemoResponse: Sendable {
  let statusCode: Int
  /// Of the body.
  let bytes: Int
}

/// A kind of request that the demo's app serves.
private struct DemoPage {
  let weight: Int
  let method: String
  /// What a router would match. `nil` for what it does not know.
  let route: String?
  let calls: [DemoRequest]

  init(_ weight: Int, _ method: String, _ route: String?, _ calls: [DemoRequest]) {
    (self.weight, self.method, self.route, self.calls) = (weight, method, route, calls)
  }

  static let common = [
    DemoPage(18, "GET", "/search", [.search]), DemoPage(4, "POST", "/login", [.login]),
    DemoPage(2, "POST", "/reports/{name}", [.chosenReport]),
  ]

  /// Those that neither fail nor take long.
  static let withoutFaults = [
    DemoPage(40, "GET", "/products/{id}", [.product]), DemoPage(12, "POST", "/checkout", [.order]),
  ]

  static let withFaults = [
    DemoPage(28, "GET", "/products/{id}", [.product]),
    DemoPage(12, "GET", "/products/{id}", [.product, .recommendations]),
    // Each grant of a token opens a connection, which is a fault too.
    DemoPage(12, "POST", "/checkout", [.order, .token]),
    DemoPage(1, "GET", "/reports/{name}", Array(repeating: .report, count: 6)),
    DemoPage(2, "GET", "/stock/{id}", [.warehouse]), DemoPage(2, "GET", "/stock/{id}", [.abandoned]),
    DemoPage(2, "GET", "/export", [.legacy]), DemoPage(1, "POST", "/payments", [.refused]),
    DemoPage(4, "GET", nil, [.missing]),
  ]

  static func random(from pages: [DemoPage]) -> DemoPage {
    var rest = Int.random(in: 0..<pages.reduce(0) { $0 + $1.weight })
    return pages.first { page in
      rest -= page.weight
      return rest < 0
    } ?? pages[0]
  }

  func path() -> String {
    (route ?? "/no/such/page").replacing("{id}", with: String(Int.random(in: 1...500)))
      .replacing("{name}", with: "monthly.csv")
  }
}

/// The sessions of the demo, by the name that is given to the factory.
private enum DemoClient: String, CaseIterable {
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
private struct DemoRequest: Hashable {
  static let product = DemoRequest(.catalogue, "/products/{id}?currency=EUR&token={token}")
  static let search = DemoRequest(.catalogue, "/search?q=oat%20milk")
  static let recommendations = DemoRequest(.catalogue, "/recommendations")
  static let missing = DemoRequest(.catalogue, "/no/such/page")
  static let order = DemoRequest(.accounts, "/orders", method: "POST")
  static let login = DemoRequest(.accounts, "/login")
  static let report = DemoRequest(.reports, "/reports/monthly.csv")
  /// A response in pieces, to a request with a body.
  static let chosenReport = DemoRequest(.accounts, "/reports/monthly.csv", method: "POST")
  static let token = DemoRequest(.tokens, "/token")
  static let warehouse = DemoRequest(.warehouse, "/warehouse")
  static let abandoned = DemoRequest(.warehouse, "/warehouse", cancelledAfter: .milliseconds(200))
  static let legacy = DemoRequest(.warehouse, "/legacy")
  static let refused = DemoRequest(.warehouse, "http://127.0.0.1:1/")

  let client: DemoClient
  private let target: String
  private let method: String
  let cancelledAfter: Duration?

  init(
    _ client: DemoClient, _ target: String, method: String = "GET", cancelledAfter: Duration? = nil
  ) {
    (self.client, self.target, self.method) = (client, target, method)
    self.cancelledAfter = cancelledAfter
  }

  /// The request. `nil` only if the origin's URL cannot be composed.
  func request(to origin: URL) -> URLRequest? {
    let target = target.replacing("{id}", with: "\(Int.random(in: 1...500))")
      .replacing("{token}", with: "\(UInt32.random(in: 0 ... .max))")
    var base = URLComponents(url: origin, resolvingAgainstBaseURL: false)
    // The origin under another name, so that the demo has more than one host.
    if client == .accounts || client == .tokens { base?.host = "localhost" }
    guard let url = URL(string: target, relativeTo: base?.url) else { return nil }
    var request = URLRequest.traced(url.absoluteURL)
    request.httpMethod = method
    if method == "POST" {
      request.setValue("application/json", forHTTPHeaderField: "Content-Type")
      request.httpBody = Data(#"{"product":17,"count":\#(Int.random(in: 1...9))}"#.utf8)
    }
    return request
  }
}

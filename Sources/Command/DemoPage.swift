import SessionTap

/// The kinds of requests that the demo's app serves. Each makes requests of its own to the demo's origin.
enum DemoPage: CaseIterable {
  case product, search, checkout, login, report, stock, abandoned, export, payment, missing

  /// A kind, chosen by its weight.
  static func random(from pages: [DemoPage] = allCases) -> DemoPage {
    var rest = Int.random(in: 0..<max(1, pages.reduce(0) { $0 + $1.weight }))
    for page in pages {
      rest -= page.weight
      if rest < 0 { return page }
    }
    return .product
  }

  /// Those that neither fail nor take long.
  static let withoutFaults: [DemoPage] = [.product, .search, .checkout, .login]

  /// The relative frequency.
  private var weight: Int {
    switch self {
    case .product: 40
    case .search: 18
    case .checkout: 12
    case .login, .missing: 4
    case .stock, .abandoned, .export: 2
    case .report, .payment: 1
    }
  }

  /// The requests that the app makes, all at once. The first one decides how the page ends.
  func calls(withFaults: Bool) -> [DemoRequest] {
    switch self {
    case .product: withFaults && Int.random(in: 0..<10) < 3 ? [.product, .recommendations] : [.product]
    case .search: [.search]
    // Each grant of a token opens a connection, which is a fault too.
    case .checkout: withFaults ? [.order, .token] : [.order]
    case .login: [.login]
    case .report: Array(repeating: .report, count: 6)
    case .stock: [.warehouse]
    case .abandoned: [.abandoned]
    case .export: [.legacy]
    case .payment: [.refused]
    case .missing: [.missing]
    }
  }

  var method: String {
    switch self {
    case .checkout, .login, .payment: "POST"
    default: "GET"
    }
  }

  /// What the caller asks for.
  func path() -> String {
    switch self {
    case .product: "/products/\(Int.random(in: 1...500))"
    case .report: "/reports/monthly.csv"
    case .stock, .abandoned: "/stock/\(Int.random(in: 1...500))"
    case .missing: "/no/such/page"
    default: route ?? "/"
    }
  }

  /// What a router would match. `nil` for what it does not know.
  private var route: String? {
    switch self {
    case .product: "/products/{id}"
    case .search: "/search"
    case .checkout: "/checkout"
    case .login: "/login"
    case .report: "/reports/{name}"
    case .stock, .abandoned: "/stock/{id}"
    case .export: "/export"
    case .payment: "/payments"
    case .missing: nil
    }
  }

  /// Ends a request of this kind.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - answers: What the calls came to, in their order.
  func end(_ request: ActiveRequest, with answers: [DemoAnswer]) {
    let sent = method == "POST" ? 48 : 0
    let received = answers.reduce(0) { $0 + $1.bytes }
    switch self {
    case .abandoned:
      request.cancel(route: route)
    case .export:
      // The head has gone out before the origin broke off.
      request.fail(
        .connectionLost, statusCode: 200, route: route, requestBodySize: sent, responseBodySize: received)
    default:
      let statusCode = statusCode(for: answers.first?.statusCode)
      request.end(
        statusCode: statusCode, route: route, requestBodySize: sent,
        responseBodySize: statusCode < 400 ? received + 2_048 : 128)
    }
  }

  /// What a caller gets for an upstream's answer. `nil` is none at all.
  private func statusCode(for upstream: Int?) -> Int {
    switch upstream {
    case 404?: 404
    case (200..<400)?: self == .checkout ? 201 : 200
    case nil where self == .stock: 504
    case nil where self == .payment: 503
    default: 502
    }
  }
}

/// What a request of the demo's app came to.
struct DemoAnswer: Sendable {
  /// `nil` where no response came.
  var statusCode: Int?
  /// Of the response's body.
  var bytes = 0
}

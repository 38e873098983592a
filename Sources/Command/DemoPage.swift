import SessionTap

/// A kind of request that the demo's app serves.
struct DemoPage {
  private let weight: Int
  let method: String
  /// What a router would match. `nil` for what it does not know.
  private let route: String?
  /// The requests that the app makes to the demo's origin, all at once. The first one decides how the page
  /// ends.
  let calls: [DemoRequest]

  private init(_ weight: Int, _ method: String, _ route: String?, _ calls: [DemoRequest]) {
    (self.weight, self.method, self.route, self.calls) = (weight, method, route, calls)
  }

  private static let common = [
    DemoPage(18, "GET", "/search", [.search]),
    DemoPage(4, "POST", "/login", [.login]),
    DemoPage(2, "POST", "/reports/{name}", [.chosenReport]),
  ]

  /// Those that neither fail nor take long.
  static let withoutFaults =
    common + [
      DemoPage(40, "GET", "/products/{id}", [.product]),
      DemoPage(12, "POST", "/checkout", [.order]),
    ]

  static let withFaults =
    common + [
      DemoPage(28, "GET", "/products/{id}", [.product]),
      DemoPage(12, "GET", "/products/{id}", [.product, .recommendations]),
      // Each grant of a token opens a connection, which is a fault too.
      DemoPage(12, "POST", "/checkout", [.order, .token]),
      DemoPage(1, "GET", "/reports/{name}", Array(repeating: .report, count: 6)),
      DemoPage(2, "GET", "/stock/{id}", [.warehouse]),
      DemoPage(2, "GET", "/stock/{id}", [.abandoned]),
      DemoPage(2, "GET", "/export", [.legacy]),
      DemoPage(1, "POST", "/payments", [.refused]),
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

  func end(_ request: ActiveRequest, with answers: [DemoAnswer]) {
    let sent = method == "POST" ? 48 : 0
    let received = answers.reduce(0) { $0 + $1.bytes }
    switch calls.first {
    case .abandoned:
      request.cancel(route: route)
    case .legacy:
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
    case (200..<400)?: calls.first == .order ? 201 : 200
    case nil where calls.first == .warehouse: 504
    case nil where calls.first == .refused: 503
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

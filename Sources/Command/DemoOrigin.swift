import SessionTap

/// The server that the demo makes requests to: a small shop with its latencies and its failures.
enum DemoOrigin {
  /// The paths in their low-cardinality form.
  static let templates: PathTemplates = [
    "/products/{id}", "/search", "/orders", "/reports/{name}", "/recommendations", "/login", "/token",
    "/warehouse", "/legacy",
  ]

  static let routes = [
    EndpointRoute("/products/*") { request in
      try await pause(2...25)
      return json(#"{"path":"\#(request.path.filter { $0 != "\"" })","price":1299}"#)
    },
    EndpointRoute("/search") { _ in
      try await pause(40...350)
      return json(#"{"hits":[\#((0..<40).map { "\($0)" }.joined(separator: ","))]}"#)
    },
    EndpointRoute("/orders", methods: ["POST"]) { request in
      try await pause(20...120)
      guard !request.body.isEmpty else { return .text("an order needs a body\n", status: 400) }
      return EndpointResponse(status: 201, headers: ["Location": "/orders/1"])
    },
    EndpointRoute("/reports/monthly.csv", methods: ["GET", "POST"]) { _ in
      try await pause(25...480)
      return EndpointResponse(headers: ["Content-Type": "text/csv"], body: monthlyReport)
    },
    EndpointRoute("/recommendations") { _ in
      try await pause(5...60)
      return Int.random(in: 0..<4) == 0
        ? .text("overloaded\n", status: 503) : json(#"{"items":[]}"#)
    },
    .immediate("/login") { _ in EndpointResponse(status: 302, headers: ["Location": "/search"]) },
    .immediate("/token") { _ in
      var response = EndpointResponse.text("granted\n")
      response.closesConnection = true
      return response
    },
    EndpointRoute("/warehouse") { _ in
      try await pause(1_500...4_000)
      return json("{}")
    },
    .immediate("/legacy") { _ in .reset },
  ]

  static let monthlyReport = Array(String(repeating: "2026-11,42,1299\n", count: 12_000).utf8)

  private static func json(_ text: String) -> EndpointResponse {
    EndpointResponse(headers: ["Content-Type": "application/json"], body: Array(text.utf8))
  }

  /// Takes its time, as servers do: mostly the short end of the range.
  private static func pause(_ milliseconds: ClosedRange<Double>) async throws {
    let share = Double.random(in: 0...1)
    let span = milliseconds.upperBound - milliseconds.lowerBound
    try await Task.sleep(for: .milliseconds(milliseconds.lowerBound + span * share * share * share))
  }
}

extension HTTPRoute {
  /// The last lines of a log of JSON lines, the newest last. `limit` in the query tells how many: 100, or what
  /// it says, up to 10,000.
  ///
  /// - Parameters:
  ///   - path: where.
  ///   - tail: gives the last lines, at most as many as asked for, each with its line end.
  public static func logs(
    at path: String = "/logs", tail: @escaping @Sendable (_ limit: Int) async -> [UInt8]
  ) -> HTTPRoute {
    HTTPRoute(path) { request in
      let limit = request.queryItems.last { $0.name == "limit" }.map { Int($0.value) } ?? 100
      guard let limit, (1...10_000).contains(limit) else {
        return .refusal(.badRequest, "limit must be a number from 1 to 10000")
      }
      return HTTPResponse(
        headers: [
          "Content-Type": "application/x-ndjson; charset=utf-8", "Cache-Control": "no-store",
          "X-Content-Type-Options": "nosniff",
        ], body: .bytes(await tail(limit)))
    }
  }
}

import TestSupport

/// The lists of known methods that an app can give, in both directions.
struct KnownMethodsTests {
  @Test func `a method is itself or other`() throws {
    let standard = KnownMethods.standard.names
    let (long, longest) = (String(repeating: "X", count: 300), String(repeating: "X", count: 256))
    let rows: [(known: [String], method: String, label: String)] = [
      (standard, "GET", "GET"), (standard, "QUERY", "QUERY"), (standard, "get", "_OTHER"),
      (standard, "HEAD", "HEAD"), (standard, "POST", "POST"), (standard, "PUT", "PUT"),
      (standard, "DELETE", "DELETE"), (standard, "CONNECT", "CONNECT"), (standard, "OPTIONS", "OPTIONS"),
      (standard, "TRACE", "TRACE"), (standard, "PATCH", "PATCH"),
      ([], "GET", "_OTHER"), ([], "PROPPATCHES", "_OTHER"), ([], "", "_OTHER"), ([], long, "_OTHER"),
      ([""], "", "_OTHER"), ([""], "PROPPATCHES", "_OTHER"),
      (["VERSION-CONTROL"], "VERSION-CONTROL", "VERSION-CONTROL"), (["VERSION-CONTROL"], "GET", "_OTHER"),
      (["GET"], "\0GET", "_OTHER"), (["\0GET"], "GET", "_OTHER"), (["\0"], "\0", "\0"),
      (["GET", "GET"], "GET", "GET"), (["_OTHER", "GET"], "_OTHER", "_OTHER"),
      ([long, "GET"], long, "_OTHER"), ([long, "GET"], "GET", "GET"), ([longest], longest, longest),
      ((0..<257).map { "M\($0)" }, "M255", "M255"), ((0..<257).map { "M\($0)" }, "M256", "_OTHER"),
      // What cannot be a label takes none of the 256 places.
      (Array(repeating: "", count: 256) + ["PURGE"], "PURGE", "PURGE"),
      (Array(repeating: "_OTHER", count: 256) + ["PURGE"], "PURGE", "PURGE"),
      (Array(repeating: longest + "X", count: 256) + ["PURGE"], "PURGE", "PURGE"),
    ]
    for (known, method, label) in rows { try expect(label, of: method, known: known) }
  }

  private func expect(_ label: String, of method: String, known: [String]) throws {
    let registry = Registry()
    let recorder = try RequestRecorder(registry: registry, knownMethods: KnownMethods(known), consumers: [])

    // One of them never is a known one: the two together tell a label that stands twice.
    for method in [method, "UNHEARD-OF"] {
      recorder.outbound.begin(client: "", method: method, url: "").end(statusCode: 200)
      recorder.inbound.begin(method: method, path: "/").end(statusCode: 200)
    }
    let (lines, row) = (registry.lines, "\(method.prefix(20)) of \(known.prefix(2))")
    for side in ["client", "server"] {
      let isOther = label == "_OTHER"
      let name = "http_\(side)_request_duration_seconds_count{http_request_method=\"\(label)\""
      expectEqual(lines.filter { $0.hasPrefix(name) }.values.map(\.value), [isOther ? 2 : 1], "\(row)")
      let active = lines.count { $0.hasPrefix("http_\(side)_active_requests{") }
      #expect(active == (isOther ? 1 : 2), "\(row)")
    }
    #expect(lines.allSatisfy { $0.utf8.count < 1_000 }, "\(row)")
  }
}

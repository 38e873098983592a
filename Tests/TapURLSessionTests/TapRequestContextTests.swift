import TestSupport

@testable import TapURLSession

/// What an app says about a request: it survives copies and changes, and reaches the observers.
struct RequestContextTests {
  static let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
  static let context = TapRequestContext(
    urlTemplate: "/users/{id}", fields: ["tenant": "acme", "attempt": 2],
    traceContext: TraceContext(traceparent: trace))

  private static let current = TraceContext.random()

  static func request(_ url: String = "http://host.test/users/42?x=1") throws -> URLRequest {
    URLRequest(url: try #require(URL(string: url)))
  }

  @Test func `it survives copies and changes, and changes nothing else`() throws {
    let plain = try with(Self.request()) {
      ($0.httpMethod, $0.httpBody) = ("POST", Data("body".utf8))
      $0.setValue("yes", forHTTPHeaderField: "X-App")
    }
    let contextual = with(plain) { $0.tapContext = Self.context }
    #expect(plain.tapContext == nil && contextual == plain && contextual.hashValue == plain.hashValue)
    func survives(_ name: String, isReplaced: Bool = false, _ change: (inout URLRequest) -> Void) throws {
      // Of what is replaced as a whole nothing is left.
      let kept = isReplaced ? nil : Self.context
      // A second one without a context, to compare with: it gets its context after the change.
      let (request, expected) = (with(contextual, change), with(plain, change))
      let late = with(expected) { $0.tapContext = Self.context }
      let contexts = [request, contextual, expected, late].map(\.tapContext)
      #expect(contexts == [kept, Self.context, nil, Self.context], "\(name)")
      let copies = try [late, expected].map {
        try #require(($0 as NSURLRequest).mutableCopy() as? NSURLRequest)
      }
      let facts = try [contextual, request, late, copies[0] as URLRequest].map(Self.facts)
      let plainFacts = try [plain, expected, expected, copies[1] as URLRequest].map(Self.facts)
      #expect(facts == plainFacts && copies[0] == copies[1], "\(name)")
    }
    try survives("url") { $0.url = URL(string: "http://other.test/") }
    try survives("method") { $0.httpMethod = "PUT" }
    try survives("header") { $0.setValue("b", forHTTPHeaderField: "A") }
    try survives("added header") { $0.addValue("b", forHTTPHeaderField: "A") }
    try survives("all headers") { $0.allHTTPHeaderFields = ["C": "d"] }
    try survives("body") { $0.httpBody = Data([1]) }
    try survives("stream") { $0.httpBodyStream = InputStream(data: Data([1])) }
    try survives("timeout") { $0.timeoutInterval = 5 }
    try survives("the default timeout") { $0.timeoutInterval = 60 }
    try survives("an initialiser's timeout", isReplaced: true) {
      guard let url = $0.url else { return }
      $0 = URLRequest(url: url, cachePolicy: .returnCacheDataElseLoad, timeoutInterval: 5)
    }
    let base = URL(string: "http://host.test/")
    try survives("relative url") { $0.url = URL(string: "users/42", relativeTo: base) }
    try survives("no headers") { $0.allHTTPHeaderFields = nil }
    try survives("cache policy") { $0.cachePolicy = .reloadIgnoringLocalCacheData }
    try survives("cookies") { $0.httpShouldHandleCookies = false }
    try survives("cellular") { $0.allowsCellularAccess = false }
    try survives("service type") { $0.networkServiceType = .background }
    try survives("document") { $0.mainDocumentURL = URL(string: "http://doc.test/") }
    let trace = try #require(Self.context.traceContext)
    try survives("trace") { $0.setTrace(trace) }
    try survives("bridge") { $0 = ($0 as NSURLRequest) as URLRequest }
    try survives("mutable copy") {
      if let copy = ($0 as NSURLRequest).mutableCopy() as? NSMutableURLRequest { $0 = copy as URLRequest }
    }
  }

  /// All that Foundation keeps of a request, and its archive.
  private static func facts(_ request: URLRequest) throws -> [String] {
    let properties = Mirror(reflecting: request).children.map { ($0.label ?? "", "\($0.value)") }
    #expect(properties.count == 12)
    let archive = try NSKeyedArchiver.archivedData(
      withRootObject: request as NSURLRequest, requiringSecureCoding: true)
    let headers = request.allHTTPHeaderFields.map { "\($0.sorted { $0.key < $1.key })" }
    // In no order, and by their address.
    let plain = properties.filter { !["allHTTPHeaderFields", "httpBodyStream"].contains($0.0) }
    return plain.map { "\($0): \($1)" } + [
      "has a stream: \(request.httpBodyStream != nil)",
      "headers: \(headers ?? "none")", "base: \(request.url?.baseURL?.absoluteString ?? "none")",
      "isTimeoutSet: \(request.isTimeoutSet.map { "\($0)" } ?? "unknown")", "archive: \(archive.count)",
    ]
  }

  /// Foundation on Linux ignores the time-out of an initialiser, and one of less than a second ends a request
  /// at once.
  @Test(arguments: [Style.async, .completionHandler, .sessionDelegate])
  func `a request with a trace runs into no time-out that it does not have`(style: Style) async throws {
    let origin = try Origin { _ in [.think(50), .response()] }
    let plain = URLRequest(url: origin.url(), cachePolicy: .useProtocolCachePolicy, timeoutInterval: 0.5)
    let stock = try await AppCall(kind: .data, style: style, request: plain).run(.ephemeral)
    #expect(stock.status == 200)
    for request in [with(plain) { $0.tapContext = Self.context }, plain.traced()] {
      let tap = URLSessionTap(observers: [])
      let call = AppCall(kind: .data, style: style, request: request)
      #expect(try await call.run(tap.sessionConfiguration(client: "test")).status == 200)
    }
  }

  @Test func `a trace's span goes with the request`() async throws {
    let span = Gate()
    let trace = try #require(TraceContext(traceparent: Self.trace, span: span))
    let origin = try Origin { _ in [.response()] }
    #expect(try await reported(URLRequest(url: origin.url()).traced(trace)).traceContext?.span === span)
    let context = try Self.request().traced(trace).tapContext
    #expect(context?.traceContext?.span === span)
    // Beside what the app has said before.
    let both = try with(Self.request()) { $0.tapContext = Self.context }.traced(trace).tapContext
    #expect(both?.fields == Self.context.fields && both?.urlTemplate == Self.context.urlTemplate)
    #expect(both?.traceContext?.span === span)
    let plain = try #require(Self.context.traceContext)
    #expect(try Self.request().traced(plain).tapContext == nil)
  }

  @Test func `it can be replaced and taken away, and a request without a URL has none`() throws {
    var request = try with(Self.request()) { $0.tapContext = Self.context }
    request.tapContext?.urlTemplate = "/other"
    let replaced = request.tapContext
    #expect(replaced == with(Self.context) { $0.urlTemplate = "/other" })
    let others = [
      with(request) { $0.tapContext = nil }, with(request) { $0.url = nil },
      with(request) { ($0.url, $0.tapContext) = (nil, Self.context) },
    ]
    expectEqual(others.map(\.tapContext), [nil, nil, nil])
  }

  private func reported(
    _ request: URLRequest, kind: Kind = .data, style: Style = .async
  ) async throws -> RequestDescription {
    // What the request has takes precedence over the tap's templates, too.
    let options = with(RequestConfiguration()) { $0.pathTemplates = ["/users/*"] }
    let (tap, observer) = URLSessionTap.observed(options: options)
    let call = AppCall(kind: kind, style: style, request: request)
    // What the app gave a request takes precedence over the trace in which it is made.
    _ = try await TraceContext.$current.withValue(Self.current) {
      try await call.run(tap.sessionConfiguration(from: .ephemeral, client: "test"))
    }
    tap.flush()
    expectEqual(observer.ended.map(\.request), observer.started)
    return try #require(observer.ended.first?.request)
  }

  @Test(arguments: [Kind.data, .uploadData, .uploadFile, .download], Style.allCases)
  func `it reaches the observers and not the server`(kind: Kind, style: Style) async throws {
    let origin = try Origin { _ in [.response()] }
    var request = URLRequest(url: origin.url("/users/42"))
    request.httpMethod = kind.sendsBody ? "POST" : "GET"
    let stock = try await AppCall(kind: kind, style: style, request: request).run(.ephemeral)
    request.tapContext = Self.context
    let plainRequest = try #require(origin.requests.first)
    let description = try await reported(request, kind: kind, style: style)
    let context = TapRequestContext(
      urlTemplate: description.urlTemplate, fields: description.fields,
      traceContext: description.traceContext)
    #expect(context == Self.context && origin.requests == [plainRequest, plainRequest])
    #expect(stock.status == 200)
  }

  @Test(
    arguments: [
      [:], ["Accept": "a"], ["traceparent": "b", "Accept": "a"], ["Traceparent": "b", "tracestate": "c=1"],
      ["TRACEPARENT": "b", "X": "c", "TraceState": "d=1"],
    ], [nil, "e=1,f=2"])
  func `a trace takes the place of the one before, as Foundation sets a header`(
    headers: [String: String], state: String?
  ) throws {
    let trace = try #require(TraceContext(traceparent: Self.trace, tracestate: state))
    let plain = try with(Self.request()) { $0.allHTTPHeaderFields = headers }
    let expected = with(plain) {
      $0.setValue(trace.traceparent, forHTTPHeaderField: "traceparent")
      $0.setValue(state, forHTTPHeaderField: "tracestate")
    }
    let copies = [plain.traced(trace), with(plain) { $0.setTrace(trace) }]
    expectEqual(copies.map(\.allHTTPHeaderFields), [expected, expected].map(\.allHTTPHeaderFields))
    #expect(plain.allHTTPHeaderFields == headers)
    // Without one, each copy has a new one.
    let others = (0..<2).compactMap { _ in plain.traced().value(forHTTPHeaderField: "traceparent") }
    #expect(Set(others + [trace.traceparent]).count == 3)
  }

  @Test(arguments: ["traceparent", "Traceparent", "TraceParent", "TRACEPARENT"])
  func `the header's trace is read in any case of its name, is sent, and wins`(name: String) async throws {
    let origin = try Origin { _ in [.response()] }
    let trace = TraceContext.random()
    var request = URLRequest(url: origin.url())
    request.tapContext = Self.context
    request.setValue("a", forHTTPHeaderField: "X-Other")
    request.setValue(trace.traceparent, forHTTPHeaderField: name)
    #expect(try await reported(request).traceContext == trace)
    #expect(origin.requests.first?.headers["traceparent"] == trace.traceparent)
  }

  @Test(arguments: ["", "00-1-2-3", trace.uppercased(), trace + "-00", "ff" + trace.dropFirst(2)])
  func `a trace header that is none is ignored, and goes out as it is`(header: String) async throws {
    let origin = try Origin { _ in [.response()] }
    let request = with(URLRequest(url: origin.url())) {
      $0.setValue(header, forHTTPHeaderField: "traceparent")
    }
    #expect(try await reported(request).traceContext?.traceID == Self.current.traceID)
    #expect(origin.requests.first?.headers["traceparent"] ?? "" == header)
  }
}

import TestSupport

@testable import TapURLSession

/// What an app says about a request: it survives copies and changes, and reaches the observers.
@Suite struct RequestContextTests {
  static let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
  static let context = TapRequestContext(
    urlTemplate: "/users/{id}", fields: ["tenant": "acme", "attempt": 2],
    traceContext: TraceContext(traceparent: trace))

  static func request(_ url: String = "http://host.test/users/42?x=1") throws -> URLRequest {
    URLRequest(url: try #require(URL(string: url)))
  }

  @Test func `a request has none of its own`() throws { #expect(try Self.request().tapContext == nil) }

  struct Change: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var make: @Sendable (inout URLRequest) -> Void
  }

  @Test(arguments: [
    Change(testDescription: "url") { $0.url = URL(string: "http://other.test/") },
    Change(testDescription: "method") { $0.httpMethod = "PUT" },
    Change(testDescription: "header") { $0.setValue("b", forHTTPHeaderField: "A") },
    Change(testDescription: "added header") { $0.addValue("b", forHTTPHeaderField: "A") },
    Change(testDescription: "all headers") { $0.allHTTPHeaderFields = ["C": "d"] },
    Change(testDescription: "body") { $0.httpBody = Data([1]) },
    Change(testDescription: "stream") { $0.httpBodyStream = InputStream(data: Data([1])) },
    Change(testDescription: "timeout") { $0.timeoutInterval = 5 },
    Change(testDescription: "the default timeout") { $0.timeoutInterval = 60 },
    Change(testDescription: "an initialiser's timeout") {
      if let url = $0.url {
        $0 = URLRequest(url: url, cachePolicy: .returnCacheDataElseLoad, timeoutInterval: 5)
      }
    },
    Change(testDescription: "relative url") {
      $0.url = URL(string: "users/42", relativeTo: URL(string: "http://host.test/"))
    },
    Change(testDescription: "no headers") { $0.allHTTPHeaderFields = nil },
    Change(testDescription: "cache policy") { $0.cachePolicy = .reloadIgnoringLocalCacheData },
    Change(testDescription: "cookies") { $0.httpShouldHandleCookies = false },
    Change(testDescription: "cellular") { $0.allowsCellularAccess = false },
    Change(testDescription: "service type") { $0.networkServiceType = .background },
    Change(testDescription: "document") { $0.mainDocumentURL = URL(string: "http://doc.test/") },
    Change(testDescription: "trace") { if let trace = Self.context.traceContext { $0.setTrace(trace) } },
    Change(testDescription: "bridge") { $0 = ($0 as NSURLRequest) as URLRequest },
    Change(testDescription: "mutable copy") {
      if let copy = ($0 as NSURLRequest).mutableCopy() as? NSMutableURLRequest { $0 = copy as URLRequest }
    },
  ])
  func `it survives copies and changes, and changes nothing else`(change: Change) throws {
    var plain = try Self.request()
    plain.httpMethod = "POST"
    plain.setValue("yes", forHTTPHeaderField: "X-App")
    plain.httpBody = Data("body".utf8)
    var request = plain
    request.tapContext = Self.context
    #expect(plain.tapContext == nil)
    let before = request
    change.make(&request)
    // Of what is replaced as a whole nothing is left.
    if change.testDescription != "an initialiser's timeout" { #expect(request.tapContext == Self.context) }
    #expect(before.tapContext == Self.context)
    #expect(try Self.facts(before) == Self.facts(plain))

    // A second one without a context, to compare with: it gets its context after the change.
    var expected = plain
    change.make(&expected)
    #expect(expected.tapContext == nil)
    #expect(try Self.facts(request) == Self.facts(expected))
    var late = expected
    late.tapContext = Self.context
    #expect(late.tapContext == Self.context)
    #expect(try Self.facts(late) == Self.facts(expected))
    let copies = try [late, expected].map {
      try #require(($0 as NSURLRequest).mutableCopy() as? NSURLRequest)
    }
    #expect(copies[0] == copies[1])
    #expect(try Self.facts(copies[0] as URLRequest) == Self.facts(copies[1] as URLRequest))
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

  @Test func `it can be replaced and taken away`() throws {
    var request = try Self.request()
    request.tapContext = Self.context
    request.tapContext?.urlTemplate = "/other"
    #expect(request.tapContext?.urlTemplate == "/other")
    #expect(request.tapContext?.fields == Self.context.fields)
    request.tapContext = nil
    #expect(request.tapContext == nil)
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

  @Test func `a request without a URL has none, and nothing breaks`() throws {
    let contextual = try with(Self.request()) { ($0.tapContext, $0.url) = (Self.context, nil) }
    #expect(contextual.tapContext == nil)
    let plain = try with(Self.request()) { ($0.url, $0.tapContext) = (nil, Self.context) }
    #expect(plain.tapContext == nil)
  }

  @Test func `a request with a context equals one without`() throws {
    let plain = try Self.request()
    var request = plain
    request.tapContext = Self.context
    #expect(request == plain)
    #expect(request.hashValue == plain.hashValue)
  }

  private func reported(
    _ request: URLRequest, kind: Kind = .data, style: Style = .async,
    configuration: URLSessionConfiguration = .ephemeral, templates: PathTemplates = []
  ) async throws -> RequestDescription {
    let observer = RecordingObserver()
    let options = with(RequestConfiguration()) { $0.pathTemplates = templates }
    let tap = URLSessionTap(observers: [observer], options: options)
    let call = AppCall(kind: kind, style: style, request: request)
    _ = try await call.run(tap.sessionConfiguration(from: configuration, client: "test"))
    tap.flush()
    #expect(observer.ended.map(\.request) == observer.started)
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
    #expect(description.urlTemplate == "/users/{id}")
    #expect(description.fields == Self.context.fields)
    #expect(description.traceContext == Self.context.traceContext)
    #expect(origin.requests == [plainRequest, plainRequest])
    #expect(stock.status == 200)
  }

  @Test(
    arguments: [
      ("/users/42/posts?x=1", nil, "/users/{id}/*"), ("/elsewhere", nil, nil),
      ("/users/42", "/mine", "/mine"),
    ] as [(String, String?, String?)])
  func `templates come from the tap, unless the request has its own`(
    path: String, own: String?, template: String?
  ) async throws {
    let origin = try Origin { _ in [.response()] }
    var request = URLRequest(url: origin.url(path))
    request.tapContext = own.map { TapRequestContext(urlTemplate: $0) }
    #expect(try await reported(request, templates: ["/users/{id}", "/users/{id}/*"]).urlTemplate == template)
  }

  @Test func `a traced copy is the request with a header more`() throws {
    let plain = try with(Self.request()) { ($0.httpMethod, $0.tapContext) = ("POST", Self.context) }
    let trace = TraceContext.random()
    let traced = plain.traced(trace)
    #expect(plain.value(forHTTPHeaderField: "traceparent") == nil)
    #expect(traced.value(forHTTPHeaderField: "traceparent") == trace.traceparent)
    #expect((traced.url, traced.httpMethod, traced.tapContext) == (plain.url, "POST", Self.context))
    let headers = (0..<2).map { _ in plain.traced().value(forHTTPHeaderField: "traceparent") }
    #expect(headers[0] != nil && headers[0] != headers[1])
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
    #expect(with(plain) { $0.setTrace(trace) }.allHTTPHeaderFields == expected.allHTTPHeaderFields)
    #expect(plain.traced(trace).allHTTPHeaderFields == expected.allHTTPHeaderFields)
    #expect(plain.allHTTPHeaderFields == headers)
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
    var request = URLRequest(url: origin.url())
    request.setValue(header, forHTTPHeaderField: "traceparent")
    #expect(try await reported(request).traceContext == nil)
    #expect(origin.requests.first?.headers["traceparent"] ?? "" == header)
  }
}

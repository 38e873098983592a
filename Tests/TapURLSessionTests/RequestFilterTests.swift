import TestSupport

@testable import TapURLSession

struct RequestFilterTests {
  /// Its headers too, whether they are recorded or not.
  @Test func `it sees the whole of a request, as it is recorded, and chooses`() async throws {
    let origin = try Origin { _ in [.response()] }
    let trace = TraceContext.random()
    for collectsHeaders in [false, true] {
      let seen = Mutex<[RequestDescription]>([])
      let (tap, observer) = URLSessionTap.observed(
        options: with(RequestConfiguration()) {
          $0.filter = { request in
            seen.withLock { $0.append(request) }
            return request.client != "health" && request.headers["X-Trial"] != "1"
          }
          $0.pathTemplates = ["/users/{id}"]
        },
        configuration: with(URLSessionTap.Configuration()) { $0.collectsHeaders = collectsHeaders })
      let expected = [("health", "0"), ("shop", "1"), ("shop", "0")].map { client, trial in
        RequestDescription(
          client: client, method: "DELETE", url: "\(origin.url("/users/42"))", serverAddress: "127.0.0.1",
          serverPort: origin.port, urlTemplate: "/users/{id}", traceContext: trace,
          fields: ["tenant": "acme"], headers: ["X-Trial": trial])
      }
      for description in expected {
        var request = URLRequest(url: origin.url("/users/42"))
        request.httpMethod = "DELETE"
        request.allHTTPHeaderFields = description.headers
        request.tapContext = TapRequestContext(fields: ["tenant": "acme"], traceContext: trace)
        _ = try await tap.session(client: description.client).data(for: request)
      }
      tap.flush()
      #expect(seen.withLock(\.self) == expected)
      let recorded = with(expected[2]) { if !collectsHeaders { $0.headers = [:] } }
      #expect(observer.started == [recorded])
    }
  }

  @Test func `it sees the methods that the tap knows, whoever makes the request`() async throws {
    let seen = Mutex<[String]>([])
    let options = with(RequestConfiguration()) {
      $0.filter = { request in
        seen.withLock { $0.append(request.methodLabel) }
        return false
      }
    }
    let recorder = try RequestRecorder(
      registry: Registry(), outbound: options, knownMethods: KnownMethods(["PURGE"]), consumers: [])
    let closed = try ClosedPort()
    defer { withExtendedLifetime(closed) {} }
    let url = try #require(URL(string: "http://127.0.0.1:\(closed.port)/"))
    let request = with(URLRequest(url: url)) { $0.httpMethod = "PURGE" }
    _ = try? await URLSessionTap(recorder: recorder).session().data(for: request)
    recorder.outbound.begin(client: "c", method: "PURGE", url: "http://a.test/").end(statusCode: 200)
    #expect(seen.withLock(\.self) == ["PURGE", "PURGE"])
  }

  /// A request that the tap does not see may hold a connection that another one waits for, if it takes one.
  /// Other schemes are left to Foundation, as is what its loaders and those of the app refuse.
  @Test func `what needs no connection leaves waits known`() throws {
    let rows: [(url: String, isChosen: Bool, isKnown: Bool)] = [
      ("http://chosen.test/", true, true), ("http://other.test/", false, false),
      ("ws://h.test/", true, false), ("wss://h.test/", true, false), ("ftp://h.test/", true, false),
      ("data:,x", true, true), ("file:///etc/hosts", true, true), ("gopher://h.test/", true, true),
      ("http://mock.test/", false, true), ("HTTP://mock.test/", true, true),
      // Not even one that Foundation refuses is recorded, where the filter leaves it out.
      ("HTTP://a.test/", false, true), ("other.test", false, true),
    ]
    for (text, isChosen, isKnown) in rows {
      let options = with(RequestConfiguration()) { $0.filter = { _ in isChosen } }
      let (tap, observer) = URLSessionTap.observed(options: options)
      let configuration = tap.sessionConfiguration(from: .ephemeral(with: MockProtocol.self), client: "a")
      let metricsClass: AnyClass = try #require(configuration.protocolClasses?.first)
      let context = try #require(ProtocolClasses.context(of: metricsClass))
      let request = URLRequest(url: try #require(URL(string: text)))
      let isTaken = context.accept(request, in: nil) != nil
      tap.flush()
      #expect(
        (isTaken, context.seesAllRequests, observer.started.isEmpty)
          == (text == "http://chosen.test/", isKnown, true), "\(text)")
    }
  }
}

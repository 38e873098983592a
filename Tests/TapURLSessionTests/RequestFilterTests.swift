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

  @Test(arguments: ["127.0.0.1", "app.localhost", "[::ffff:127.0.0.1]"])
  func `the endpoint of the app itself is never recorded`(host: String) async throws {
    let (tap, observer) = URLSessionTap.observed()
    let (closed, other) = (try ClosedPort(), try ClosedPort())
    let session = tap.session(client: "a")
    for (excluded, port) in [(closed.port, closed.port), (nil, closed.port), (closed.port, other.port)] {
      tap.exclude(excluded.map { OwnEndpoint(host: "127.0.0.1", port: $0) })
      _ = try? await session.data(from: #require(URL(string: "http://\(host):\(port)/metrics")))
    }
    tap.flush()
    expectEqual(observer.started.map(\.serverPort), [closed.port, other.port])
  }

  /// libcurl takes it from the environment. Of `http_proxy` it does not read the name in capitals.
  @Test(.needs(.program)) func `through a proxy it takes a connection that others may wait for`() async {
    await #expect(processExitsWith: .success) {
      let tap = URLSessionTap(observers: [])
      tap.exclude(OwnEndpoint(host: "127.0.0.1", port: 4711))
      let own = URLRequest(url: try #require(URL(string: "http://127.0.0.1:4711/metrics")))
      let names = ["http_proxy", "all_proxy", "ALL_PROXY", "HTTP_PROXY"]
      for name in names { unsetenv(name) }
      for name in names {
        let context = TapContext.of([tap])
        setenv(name, "http://127.0.0.1:1", 1)
        #expect(context.accept(own, in: nil) == nil)
        unsetenv(name)
        #expect(context.seesAllRequests == (name == "HTTP_PROXY"), "\(name)")
      }
    }
  }

  @Test func `the endpoint is known by its addresses and the names of the machine`() {
    let addresses = Host.current().addresses.filter { !$0.contains("%") }
    #expect(!addresses.isEmpty)
    let hostName = ProcessInfo.processInfo.hostName
    // Addresses as libcurl takes them, and names of this machine.
    let loopback = [
      "127.0.0.1", "localhost", "LOCALHOST", "localhost.", "app.localhost", "127.1.2.3", "127.1",
      "0x7f000001",
      "2130706433", "0.0.0.0", "0", "::1", "::", "::ffff:127.0.0.1", "::ffff:7f00:1", hostName,
      hostName + ".",
    ]
    let foreign = [
      "", "example.com", "localhost.example.com", "127.0.0.1.example.com", "192.0.2.1", "::2", "127.0.0.1\0b",
    ]
    let rows: [(host: String, own: [String], others: [String])] = [
      ("127.0.0.1", loopback, ["10.1.2.3"]), ("0.0.0.0", loopback + addresses, []),
      ("::", loopback + addresses, []),
      ("fd00::1", ["fd00::1", "FD00:0::1", hostName], ["fd00::2", "::1", "127.0.0.1"]),
      (
        "10.1.2.3", ["10.1.2.3", "10.66051", "::ffff:10.1.2.3", hostName], ["127.0.0.1", "::1", "localhost"]
      ), ("fe80::1%lo", [hostName], ["::1"]),
    ]
    for row in rows {
      let endpoint = OwnEndpoint(host: row.host, port: 1)
      let known = (row.own + row.others + foreign).filter { endpoint.isNamed(by: $0) }
      expectEqual(known, row.own, "\(row.host)")
    }
  }

  /// A request that the tap does not see may hold a connection that another one waits for, if it takes one.
  /// Other schemes are left to Foundation, as is what its loaders and those of the app refuse.
  @Test func `what needs no connection leaves waits known`() throws {
    let rows: [(url: String, isChosen: Bool, isKnown: Bool)] = [
      ("http://chosen.test/", true, true), ("http://other.test/", false, false),
      ("https://127.0.0.1:4711/metrics", false, false), ("http://localhost:4711/metrics", true, true),
      ("ws://h.test/", true, false), ("wss://h.test/", true, false), ("ftp://h.test/", true, false),
      ("data:,x", true, true), ("file:///etc/hosts", true, true), ("gopher://h.test/", true, true),
      ("http://mock.test/", false, true), ("HTTP://mock.test/", true, true),
      // Not even one that Foundation refuses is recorded, where the filter leaves it out.
      ("HTTP://a.test/", false, true), ("other.test", false, true),
    ]
    for (text, isChosen, isKnown) in rows {
      let options = with(RequestConfiguration()) { $0.filter = { _ in isChosen } }
      let (tap, observer) = URLSessionTap.observed(options: options)
      if text.hasPrefix("http:") { tap.exclude(OwnEndpoint(host: "127.0.0.1", port: 4711)) }
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

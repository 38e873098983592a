import TapEndpoint
import TestSupport

@Suite struct AccessTests {
  @Test func `reads secrets line by line`() throws {
    let credentials = try #require(Credentials(Array(" one\t\r\n\n  two\nthree four".utf8), .bearer))
    for secret in ["one", "two", "three four"] { #expect(credentials.contain(Array(secret.utf8))) }
    for other in ["", "on", "onee", "oneone", "One", "twp", "three", "one\n", " one"] {
      #expect(!credentials.contain(Array(other.utf8)), "\(other)")
    }
    #expect(Credentials(Array(" \n\r\n".utf8), .bearer) == nil)
    // An editor may put a byte order mark before the text (RFC 3629, section 6).
    let marked = try #require(Credentials(Array("\u{FEFF}one\n\u{FEFF}two".utf8), .bearer))
    #expect(marked.contain(Array("one".utf8)) && !marked.contain(Array("two".utf8)))
    #expect(Credentials(Array("\u{FEFF}\n".utf8), .bearer) == nil)
  }

  @Test(arguments: [
    ("Aladdin:open sesame", "QWxhZGRpbjpvcGVuIHNlc2FtZQ=="), ("test:123\u{A3}", "dGVzdDoxMjPCow=="),
    ("a:b", "YTpi"), ("a:\u{7}\u{ff}\u{fff}~", "YToHw7/gv79+"),
  ])
  func `reads basic credentials`(secret: String, token: String) throws {
    let credentials = try #require(Credentials(Array(secret.utf8), .basic))
    #expect(credentials.contain(Array(token.utf8)))
    #expect(!credentials.contain(Array(secret.utf8)))
  }

  @Test func `lets in who has a secret`() async throws {
    let directory = try TemporaryFolder()
    try directory.write("token-1\ntoken-2\n", to: "tokens")
    try directory.write("prom:pass\n", to: "passwords")
    let access = with(Endpoint.Configuration.Access()) {
      ($0.bearerTokenFile, $0.basicPasswordFile) = (directory("tokens"), directory("passwords"))
    }
    let routes = ["/healthz", "/readyz", "/metrics"].map { path in
      EndpointRoute.immediate(path) { _ in .text("secret") }
    }
    try await withEndpoint(routes: routes, access: access) { port in
      func status(_ path: String, _ authorization: [String]) async throws -> String {
        let fields = authorization.map { "Authorization: \($0)\r\n" }.joined()
        return try await RawClient.status(path, port: port, fields: fields)
      }
      for right in ["Bearer token-1", "bearer  token-2", "BASIC cHJvbTpwYXNz"] {
        #expect(try await status("/metrics", [right]) == "200", "\(right)")
      }
      for wrong in [
        [], [""], ["Bearer"], ["Bearer "], ["Bearer token-3"], ["Bearer token-1x"], ["Bearer token-1 x"],
        ["Basic token-1"], ["Bearer cHJvbTpwYXNz"], ["Basic cHJvbTpwYXNzx"], ["Digest token-1"],
        ["Bearer token-1", "Bearer token-1"], ["Bearertoken-1"],
      ] { #expect(try await status("/metrics", wrong) == "401", "\(wrong)") }
      #expect(try await status("/nowhere", []) == "401")
      for path in ["/healthz", "/readyz"] { #expect(try await status(path, []) == "200") }
      let refusal = try await RawClient.get("/metrics", port: port)
      #expect(refusal.contains("\r\nWWW-Authenticate: Bearer realm=\"session-tap\"\r\n"))
      #expect(refusal.contains("\r\nWWW-Authenticate: Basic realm=\"session-tap\"\r\n"))
      #expect(!refusal.hasSuffix("secret"))

      try directory.write("token-9", to: "tokens")
      try await Poll.until("the new token") { try await status("/metrics", ["Bearer token-1"]) == "401" }
      #expect(try await status("/metrics", ["Bearer token-9"]) == "200")
      directory.remove("tokens")
      try await Poll.until("no token") { try await status("/metrics", ["Bearer token-9"]) == "503" }
      #expect(try await status("/metrics", ["Basic cHJvbTpwYXNz"]) == "200")
    }
  }

  /// Those that wait for it have the places of their kind, a quarter of the connections for scrapes. Others
  /// would find none.
  @Test func `a file system that hangs holds up no request but those that need its credentials`() async throws
  {
    let hangs = Atomic(false)
    let readings = Atomic(0)
    let (isReading, release, isRead) = (Gate(), Gate(), Gate())
    defer { release.open() }
    let registry = Registry()
    var access = Endpoint.Configuration.Access()
    access.bearerTokenFile = "tokens"
    access.readFile = { _, _ in
      if hangs.load(ordering: .relaxed) {
        readings.add(1, ordering: .relaxed)
        isReading.open()
        release.waitBlocking()
        isRead.open()
      }
      return Array("token\n".utf8)
    }
    let routes: [EndpointRoute] = [
      .liveness(), try .metrics(of: registry), .immediate("/app") { _ in .text("fine\n") },
    ]
    let limits = { (limits: inout Endpoint.Configuration.Limits) in
      (limits.answerTimeout, limits.connections, limits.requestsInFlight) = (.seconds(3600), 11, 2)
    }
    try await withEndpoint(routes: routes, limits: limits, access: access) { port in
      hangs.store(true, ordering: .relaxed)
      let answers = EventQueue<String>()
      func ask(_ path: String, _ fields: String = "") throws -> RawClient {
        let client = try RawClient(port: port)
        let right = "Host: localhost\r\nAuthorization: Bearer token\r\n"
        client.send("GET \(path) HTTP/1.1\r\n\(right)\(fields)\r\n")
        return client
      }
      // What was read at the start is valid for a second.
      let start = ContinuousClock.now
      try await Poll.until("the next second") { start.duration(to: .now) > .seconds(1) }
      // One whose time is over leaves its place.
      let late = try ask("/metrics", "X-Prometheus-Scrape-Timeout-Seconds: 0.06\r\n")
      try await isReading.wait()
      #expect(await late.receive(until: "too long\n").hasPrefix("HTTP/1.1 503 "))
      let first = try ask("/metrics")
      #expect(try await RawClient.status("/healthz", port: port) == "200")
      let clients = try (0..<4).map { _ in try ask("/metrics") }
      for client in clients {
        Task { answers.send(await client.receive(until: "\r\n\r\n")) }
      }
      for _ in 0..<3 { #expect(try await answers.next("a refusal").hasPrefix("HTTP/1.1 503 ")) }
      #expect(registry.value(of: "session_tap_scrapes_total", labels: ["code": "503"]) == 3)
      let other = try ask("/app")
      #expect(try await RawClient.status("/healthz", port: port) == "200")
      #expect(!isRead.isOpen)
      first.reset()
      release.open()
      #expect(try await answers.next("an answer").hasPrefix("HTTP/1.1 200 "))
      #expect(await other.receive(until: "fine\n").hasPrefix("HTTP/1.1 200 "))
      #expect(readings.load(ordering: .relaxed) == 1)
    }
  }

  /// A scraper's answer is the same in each case, to the byte.
  @Test func `says to a browser what lets it in, where a token alone does not`() async throws {
    let directory = try TemporaryFolder()
    try directory.write("token\n", to: "tokens")
    try directory.write("user:pass\n", to: "passwords")
    var access = Endpoint.Configuration.Access()
    access.bearerTokenFile = directory("tokens")
    func body(_ accept: String) async throws -> String {
      var body = ""
      try await withEndpoint(routes: [.immediate("/") { _ in .text("secret") }], access: access) { port in
        let answer = try await RawClient.get("/", port: port, fields: "Accept: \(accept)\r\n")
        #expect(answer.hasPrefix("HTTP/1.1 401 "))
        body = String(answer.split(separator: "\r\n").last ?? "")
      }
      return body
    }
    let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
    let scraper = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
    let refusal = "401 Unauthorized: this path needs credentials\n"
    #expect(
      try await body(browser)
        == "401 Unauthorized: this path needs a bearer token, which browsers do not ask for. Give the app a "
        + "file of passwords too (basicPasswordFile, or SESSION_TAP_BASIC_PASSWORD_FILE): then the browser "
        + "asks for a user and a password\n")
    #expect(try await body(scraper) == refusal)
    access.basicPasswordFile = directory("passwords")
    #expect(try await body(browser) == refusal)
    #expect(try await body(scraper) == refusal)
  }

  @Test(arguments: [
    ("missing", "No such file or directory"), ("empty", "no line has any"), (".", "Is a directory"),
    ("large", "File too large"),
  ])
  func `does not start with a file that lets nobody in`(_ name: String, cause: String) throws {
    let directory = try TemporaryFolder()
    try directory.write(" \n", to: "empty")
    try directory.write(String(repeating: "x", count: 65_537), to: "large")
    try directory.write("token", to: "tokens")
    let remedy = "write one a line, and let this process read the file"
    for (tokens, passwords) in [(name, nil), ("tokens", name)] as [(String, String?)] {
      let error = startError {
        $0.access.bearerTokenFile = directory(tokens)
        $0.access.basicPasswordFile = passwords.map { directory($0) }
      }
      #expect(error?.code == .noCredentials)
      #expect(error?.description == "no credentials: \(directory(name)): \(cause) (\(remedy))")
    }
  }

  @Test func `runs no handler for a request that is refused`() async throws {
    let directory = try TemporaryFolder()
    try directory.write("token", to: "tokens")
    let access = with(Endpoint.Configuration.Access()) { $0.bearerTokenFile = directory("tokens") }
    let calls = Atomic(0)
    let route = EndpointRoute.immediate("/logs") { _ in
      calls.add(1, ordering: .relaxed)
      return .text("lines")
    }
    try await withEndpoint(routes: [route], access: access) { port in
      #expect(try await RawClient.status("/logs", port: port) == "401")
      let token = "Authorization: Bearer token\r\n"
      let other = try await RawClient.get("/logs", port: port, host: "evil.example", fields: token)
      #expect(other.hasPrefix("HTTP/1.1 421 "))
      let count = calls.load(ordering: .relaxed)
      #expect(count == 0)
      #expect(try await RawClient.get("/logs", port: port, fields: token).hasSuffix("lines"))
    }
  }

  @Test func `listens to the network only if told`() async throws {
    let address = EndpointAddress.tcp(host: "0.0.0.0", port: 0)
    let error = startError(at: address)
    #expect(error?.code == .accessNotRestricted)
    #expect(error?.description.hasPrefix("anybody could read: 0.0.0.0:") == true)
    let remedy = "listen on 127.0.0.1, set a file with credentials, or set allowsAnyoneFromNetwork"
    #expect(error?.description.hasSuffix(" (\(remedy))") == true)
    let directory = try TemporaryFolder()
    let token = try directory.write("token", to: "tokens")
    let restricted = with(Endpoint.Configuration(address: address)) { $0.access.bearerTokenFile = token }
    let other = Endpoint(configuration: restricted, routes: [])
    try other.start()
    await other.shutdown(within: .zero)
    let open = with(Endpoint.Configuration(address: address)) { $0.access.allowsAnyoneFromNetwork = true }
    let endpoint = Endpoint(configuration: open, routes: [.liveness()])
    let port = try #require(try endpoint.start().port)
    #expect(try await RawClient.get("/healthz", port: port).hasSuffix("ok\n"))
    // Others reach it by any name.
    #expect(try await RawClient.status("/logs", port: port, host: "app.example") == "404")
    await endpoint.shutdown(within: .zero)
  }

  @Test(.needs(.program)) func `a start that is refused leaves no socket behind`() async {
    await #expect(processExitsWith: .success) {
      let counts = try (0..<3).map { _ in
        let endpoint = Endpoint(configuration: .init(address: .tcp(host: "0.0.0.0", port: 0)), routes: [])
        #expect(throws: EndpointError.self) { try endpoint.start() }
        return try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
      }
      #expect(Set(counts).count == 1)
    }
  }

  @Test(arguments: [
    ("127.0.0.1", false), ("127.8.9.1", false), ("::1", false), ("::ffff:127.0.0.1", false),
    ("0.0.0.0", true), ("::", true), ("10.1.2.3", true), ("fe80::1%eth0", true), ("::ffff:10.1.2.3", true),
    ("::1:2", true), ("128.0.0.1", true),
  ])
  func `knows the loopback`(host: String, isReachable: Bool) {
    #expect(EndpointAddress.tcp(host: host, port: 1).isReachableFromNetwork == isReachable)
  }

  /// A page of any site can have its own name resolve to this machine, and read what is served there (DNS
  /// rebinding).
  @Test func `takes no foreign host on the loopback, but for what is public`() async throws {
    let lines = EventQueue<String>()
    let routes: [EndpointRoute] = [
      .liveness(), .readiness(Readiness()), try .metrics(of: Registry()),
      EndpointRoute.immediate("/logs") { _ in .text("secret") },
    ]
    try await withEndpoint(routes: routes, logRefusal: { lines.send($0) }) { port in
      for host in [
        "localhost", "LocalHost:\(port)", "localhost.:1", "app.localhost", "127.0.0.1:9464", "[::1]:9464",
        "10.1.2.3", String(repeating: "a.", count: 122) + "localhost.",
      ] { #expect(try await RawClient.status("/logs", port: port, host: host) == "200", "\(host)") }
      for host in [
        "evil.example", "evil.example:\(port)", "localhost.evil.example", "notlocalhost",
        "127.0.0.1.evil.example", "b" + String(repeating: "a.", count: 122) + "localhost.",
      ] {
        for path in ["/logs", "/", "/nowhere"] {
          #expect(try await RawClient.status(path, port: port, host: host) == "421", "\(host) \(path)")
        }
        for path in ["/metrics", "/healthz", "/readyz"] {
          #expect(try await RawClient.status(path, port: port, host: host) == "200", "\(host) \(path)")
        }
      }
      // Browsers always name one.
      let answer = try await RawClient(port: port).exchange("GET /logs HTTP/1.0\r\n\r\n")
      #expect(answer.hasSuffix("secret"))
      #expect(try await RawClient.status("http://evil.example/logs", port: port, host: "localhost") == "421")
      let refusal = try await RawClient.get("/logs", port: port, host: "evil.example")
      let body = try #require(refusal.split(separator: "\r\n\r\n").last)
      let advice = "ask for localhost or an address of this machine, or add the host to access.allowedHosts"
      #expect(body == "421 Misdirected Request: \(advice)\n")
      #expect(!refusal.contains("evil"))
      #expect(try await lines.next("a refusal").hasSuffix(": 421 a host that is not allowed"))
    }
  }

  @Test func `takes the hosts that are allowed`() async throws {
    let access = with(Endpoint.Configuration.Access()) { $0.allowedHosts = ["Metrics.Example.com", "a.co."] }
    let route = EndpointRoute.immediate("/logs") { _ in .text("lines") }
    try await withEndpoint(routes: [route], access: access) { port in
      for host in ["metrics.example.com", "METRICS.example.com.:443", "a.co"] {
        let status = try await RawClient.status("/logs", port: port, host: host)
        #expect(status == "200", "\(host)")
      }
      #expect(try await RawClient.status("/logs", port: port, host: "example.com") == "421")
    }
  }

  @Test(arguments: ["", "a:80", "http://a", "*.example.com", "a b"])
  func `refuses to allow what is no host`(host: String) {
    let error = startError { $0.access.allowedHosts = [host] }
    #expect(error?.code == .invalidConfiguration)
    #expect(
      error?.description
        == "invalid allowed host: \(host) (a name without a port, such as metrics.example.com)")
  }

  @Test func `tells of refusals but not of a flood`() {
    var log = RefusalLog()
    let start = ContinuousClock.now
    let ofMinute = [Int?](repeating: 0, count: 10) + [Int?](repeating: nil, count: 20)
    #expect((0..<30).map { _ in log.admit(at: start) } == ofMinute)
    #expect(log.admit(at: start + .seconds(59)) == nil)
    #expect(log.admit(at: start + .seconds(60)) == 21)
    // What a line has told is not told again.
    #expect((0..<30).map { _ in log.admit(at: start + .seconds(3600)) } == ofMinute)
  }

  @Test func `tells what was refused and whose`() async throws {
    let lines = EventQueue<String>()
    let directory = try TemporaryFolder()
    var access = Endpoint.Configuration.Access()
    access.bearerTokenFile = try directory.write("token", to: "tokens")
    access.openPaths = ["/open"]
    let routes = [EndpointRoute.immediate("/open") { _ in .text("fine\n") }]
    try await withEndpoint(routes: routes, access: access, logRefusal: { lines.send($0) }) { port in
      let client = try RawClient(port: port)
      client.send("nonsense\r\n")
      _ = await client.receive(until: "\r\n\r\n")
      let line = try await lines.next("a refusal")
      #expect(line.hasPrefix("refused 127.0.0.1:"))
      #expect(line.hasSuffix(": 400 the first line is no request line"))
      #expect(try await RawClient.status("/open", port: port) == "200")
      #expect(try await RawClient.status("/healthz", port: port) == "401")
      let other = try await lines.next("another refusal")
      #expect(other.hasPrefix("refused 127.0.0.1:") && other.hasSuffix(": 401 credentials"))
    }
  }
}

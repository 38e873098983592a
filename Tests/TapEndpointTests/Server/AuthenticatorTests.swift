import TestStart
import TestSupport

@testable import TapEndpoint

@Suite struct AuthenticatorTests {
  private static func access(
    _ tokens: String?, passwords: String? = nil
  ) -> Endpoint.Configuration.Access {
    with(Endpoint.Configuration.Access()) {
      ($0.bearerTokenFile, $0.basicPasswordFile) = (
        tokens.map { _ in "tokens" }, passwords.map { _ in "passwords" }
      )
      $0.readFile = { path, limit in
        limit == 65_536 ? Array(((path.hasSuffix("tokens") ? tokens : passwords) ?? "").utf8) : []
      }
    }
  }

  /// Which of the tokens are among the secrets of a text; `nil` if it has none.
  private static func contained(
    _ text: String, _ tokens: [String], _ scheme: Credentials.Scheme = .bearer
  ) -> [String]? {
    Credentials(Array(text.utf8), scheme).map { credentials in
      tokens.filter { credentials.contain(Array($0.utf8)) }
    }
  }

  @Test func `reads secrets line by line`() {
    let secrets = ["one", "two", "three four"]
    let others = ["", "on", "onee", "oneone", "One", "twp", "three", "one\n", " one"]
    #expect(Self.contained(" one\t\r\n\n  two\nthree four", secrets + others) == secrets)
    // An editor may put a byte order mark before the text (RFC 3629, section 6).
    #expect(Self.contained("\u{FEFF}one\n\u{FEFF}two", secrets) == ["one"])
    #expect([" \n\r\n", "\u{FEFF}\n"].map { Self.contained($0, []) } == [nil, nil])
  }

  @Test func `reads basic credentials`() {
    let tokens = [
      "Aladdin:open sesame": "QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "test:123\u{A3}": "dGVzdDoxMjPCow==",
      "a:b": "YTpi", "a:\u{7}\u{ff}\u{fff}~": "YToHw7/gv79+",
    ]
    for (secret, token) in tokens {
      expectEqual(Self.contained(secret, [token, secret], .basic), [token], "\(secret)")
    }
  }

  @Test func `lets in who has a secret`() throws {
    let made = try Authenticator(Self.access("token-1\ntoken-2\n", passwords: "prom:pass\n"))
    let authenticator = try #require(made)
    func refusal(_ fields: [String], _ path: String = "/metrics") -> EndpointResponse? {
      var request = EndpointRequest(path: path)
      for field in fields { request.headers.add("Authorization", field) }
      return authenticator.refusal(request)
    }
    let right: [[String]] = [["Bearer token-1"], ["bearer  token-2"], ["BASIC cHJvbTpwYXNz"]]
    let wrong: [[String]] = [
      [], [""], ["Bearer"], ["Bearer "], ["Bearer token-3"], ["Bearer token-1x"], ["Bearer token-1 x"],
      ["Basic token-1"], ["Bearer cHJvbTpwYXNz"], ["Basic cHJvbTpwYXNzx"], ["Digest token-1"],
      ["Bearer token-1", "Bearer token-1"], ["Bearertoken-1"],
    ]
    let refused = wrong.filter { refusal($0)?.status == 401 }
    #expect(right.filter { refusal($0) != nil } == [] && refused == wrong)
    #expect(refusal([], "/nowhere")?.status == 401 && refusal([], "/healthz") == nil)
    let challenges: [String] = ["Bearer realm=\"session-tap\"", "Basic realm=\"session-tap\""]
    #expect(refusal([])?.headers.values(of: "WWW-Authenticate") == challenges)
  }

  @Test func `what was read is valid for a second, and read again only for who needs it`() throws {
    let before = ContinuousClock.now
    let made = try Authenticator(Self.access("token"))
    let after = ContinuousClock.now
    var authenticator = try #require(made)
    let request = EndpointRequest(path: "/", headers: ["Authorization": "Bearer token"])
    let probe = EndpointRequest(path: "/healthz")
    let (almost, reading) = (Duration.seconds(1) - .nanoseconds(1), after + .seconds(60))
    var isOutdated = [
      authenticator.isOutdated(for: request, at: before + almost),
      authenticator.isOutdated(for: request, at: after + .seconds(1)),
      authenticator.isOutdated(for: probe, at: after + .seconds(1)),
    ]
    authenticator.take(authenticator.files.map(\.current), readAt: reading)
    isOutdated += [almost, .seconds(1)].map { authenticator.isOutdated(for: request, at: reading + $0) }
    #expect(isOutdated == [false, true, false, false, true])
    #expect(authenticator.refusal(request) == nil)
    // There was no thread to read them.
    authenticator.take([nil], readAt: nil)
    #expect(authenticator.isOutdated(for: request, at: reading + .seconds(1)))
    #expect(authenticator.refusal(request)?.status == 503)
  }

  @Test func `does not start with a file that lets nobody in`() throws {
    let folder = try TemporaryFolder()
    try folder.write(" \n", to: "empty")
    try folder.write(String(repeating: "x", count: 65_537), to: "large")
    try folder.write("token", to: "tokens")
    let causes = [
      "missing": "No such file or directory", "empty": "no line has any", ".": "Is a directory",
      "large": "File too large",
    ]
    for (name, cause) in causes {
      for (tokens, passwords) in [(name, nil), ("tokens", name)] as [(String, String?)] {
        let error = startError {
          $0.access.bearerTokenFile = folder(tokens)
          $0.access.basicPasswordFile = passwords.map { folder($0) }
        }
        let text =
          "no credentials: \(folder(name)): \(cause) (write one a line, and let this process read the file)"
        expectEqual(error?.description, text, "\(name)")
        expectEqual(error?.code, .noCredentials, "\(name)")
      }
    }
  }

  @Test func `a change of the files takes effect`() async throws {
    let folder = try TemporaryFolder()
    try folder.write("token-1\n", to: "tokens")
    try folder.write("prom:pass\n", to: "passwords")
    let access = with(Endpoint.Configuration.Access()) {
      ($0.bearerTokenFile, $0.basicPasswordFile) = (folder("tokens"), folder("passwords"))
    }
    try await withEndpoint(routes: [.immediate("/metrics") { _ in .text("") }], access: access) { port in
      func status(_ authorization: String) async throws -> String {
        try await RawClient.status("/metrics", port: port, fields: "Authorization: \(authorization)\r\n")
      }
      #expect(try await status("Bearer token-1") == "200")
      try folder.write("token-9", to: "tokens")
      try await Poll.until("the new token") { try await status("Bearer token-1") == "401" }
      #expect(try await status("Bearer token-9") == "200")
      folder.remove("tokens")
      try await Poll.until("no token") { try await status("Bearer token-9") == "503" }
      #expect(try await status("Basic cHJvbTpwYXNz") == "200")
    }
  }

  /// Those that wait for it count among those of their kind, a quarter of the connections for scrapes. Others
  /// would find no room.
  @Test func `a file system that hangs holds up no request but those that need its credentials`() async throws
  {
    let hangs = Atomic(false)
    let readings = Atomic(0)
    let (isReading, release, isRead) = (Gate(), Gate(), Gate())
    defer { release.open() }
    let registry = Registry()
    var access = Self.access("token")
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
      // One whose time is over counts no more.
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

  @Test(.needs(.program)) func `credentials that no thread can read are read for the next request`() async {
    await #expect(processExitsWith: .success) {
      let route = EndpointRoute.immediate("/") { _ in .text("fine\n") }
      try await withEndpoint(routes: [route], access: Self.access("token")) { port in
        let right = "Authorization: Bearer token\r\n"
        refuse_threads(-1)
        // What was read at the start is valid for a second.
        let refusal = try await Poll.until("a refusal") {
          let answer = try await RawClient.get("/", port: port, fields: right)
          return answer.hasSuffix("fine\n") ? nil : answer
        }
        #expect(refusal.hasSuffix("503 Service Unavailable: the credentials cannot be read\n"))
        refuse_threads(0)
        #expect(try await RawClient.get("/", port: port, fields: right).hasSuffix("fine\n"))
      }
    }
  }
}

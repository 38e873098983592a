import TestSupport

extension Scenario {
  static let body = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }

  /// `gzip me, please: ` and two hundred digits, compressed by gzip.
  static let gzipBody: [UInt8] = [
    0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x4b, 0xaf, 0xca, 0x2c, 0x50, 0xc8, 0x4d,
    0xd5, 0x51, 0x28, 0xc8, 0x49, 0x4d, 0x2c, 0x4e, 0xb5, 0x52, 0x30, 0x18, 0x1e, 0xc0, 0x1c, 0x00, 0xc0,
    0x26, 0x08, 0xf2, 0xd9, 0x00, 0x00, 0x00,
  ]

  static let answered = RequestEnd.response(statusCode: 200)
  static let lost = RequestEnd.failure(.connectionLost, statusCode: nil)

  static let whole = Scenario(
    "200 sized", .response(headers: [("X-Origin", "yes"), ("Set-Cookie", "flavour=oat; Path=/")], body: body))

  static let redirected = Scenario(name: "redirect once", end: answered) { _, request, _ in
    request.path == "/end" ? [.response(body: body)] : [.redirect(to: "/end")]
  }

  static let refused = Scenario(name: "connection refused", end: .failure(.connect, statusCode: nil))

  /// A response that comes whole.
  static let responses: [Scenario] = [
    whole, Scenario("200 chunked", .chunked(body: body, chunk: 7_001)),
    Scenario("200 cacheable", .response(headers: [("Cache-Control", "max-age=60")], body: body)),
    // Stock stores nothing in a cache by itself, and serves what the app has stored there.
    Scenario(
      name: "200 from the cache", end: answered, script: { _, _, _ in [.close] },
      configure: { configuration, port in
        guard let url = URL(string: "http://127.0.0.1:\(port)/"),
          let response = HTTPURLResponse(
            url: url, statusCode: 200, httpVersion: "HTTP/1.1",
            headerFields: ["Cache-Control": "max-age=600", "Content-Length": "\(body.count)"])
        else { return }
        configuration.urlCache?.storeCachedResponse(
          CachedURLResponse(response: response, data: Data(body)), for: URLRequest(url: url))
      }, isFromCache: true, applies: { kind, _ in kind == .data }),
    with(Scenario("gzip", .response(headers: [("Content-Encoding", "gzip")], body: gzipBody))) {
      $0.contentSize = gzipBody.count
    }, Scenario("empty 204", end: .response(statusCode: 204), .text("HTTP/1.1 204 No Content\r\n\r\n")),
    with(Scenario("HEAD", .response(body: body, head: true))) { $0.method = "HEAD" },
    Scenario(
      "304", end: .response(statusCode: 304), .text("HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n")),
    Scenario(
      "404", end: .response(statusCode: 404), .response("404 Not Found", body: Array("nothing here".utf8))),
  ]

  /// A chain of redirects.
  static let redirects: [Scenario] = [
    redirected,
    Scenario(name: "redirect with 307 and a body", end: answered, method: "POST") { _, request, _ in
      request.path == "/end" ? [.response(body: body)] : [.redirect("307 Temporary Redirect", to: "/end")]
    },
    with(
      Scenario(
        "redirect refused by the delegate", end: .response(statusCode: 302),
        .redirect(to: "/end", body: "moved"))
    ) {
      $0.behaviour.followsRedirects = false
      // Stock never asks a task's own delegate, and crashes for a download: `urlProtocol(_:didLoad:)` in
      // `URLSessionTask.swift`.
      $0.applies = { kind, style in style == .sessionDelegate && kind != .download }
    },
    Scenario(name: "21 redirects", end: .failure(.tooManyRedirects, statusCode: nil)) { earlier, _, _ in
      [.redirect(to: "/hop\(earlier + 1)")]
    },
  ]

  /// No whole response.
  static let failures: [Scenario] = [
    refused,
    Scenario(
      name: "DNS failure", end: .failure(.dns, statusCode: nil), url: { _ in "http://nothing.invalid/" }),
    with(Scenario("TLS to a server without TLS", end: .failure(.tls, statusCode: nil), .close)) {
      $0.url = { "https://127.0.0.1:\($0)/" }
    }, Scenario("reset in the head", end: lost, .text("HTTP/1.1 200 OK\r\nContent-"), .reset),
    Scenario("no answer", end: lost, .close),
    with(Scenario("short body", end: lost, .torn, .close)) { $0.headStatus = 200 },
    Scenario(
      name: "slow head that times out", end: .failure(.timeout, statusCode: nil),
      script: { _, _, gates in [.hold(gates.goOn)] }, configure: timesOut),
    Scenario(
      name: "slow body that times out", end: .failure(.timeout, statusCode: nil), headStatus: 200,
      script: { _, _, gates in [.torn, .hold(gates.goOn)] }, configure: timesOut),
  ]

  static let interruptions: [Scenario] = [
    Scenario(name: "cancel before the head", end: .cancelled, script: held, interruption: .cancel),
    Scenario(
      name: "cancel in the body", end: .cancelled, script: { [.torn] + held($0, $1, $2) },
      interruption: .cancel, waitsForData: true),
    Scenario(
      name: "suspend and resume", end: answered,
      script: { earlier, request, gates in
        (earlier == 0 ? held(earlier, request, gates) : []) + [.response(body: body)]
      }, interruption: .suspendAndResume, applies: { kind, _ in !kind.hasFixedBody }),
    // Stock starts the request again with the body used up, and waits for ever: libcurl misses the body from
    // 8.7 on.
    Scenario(
      name: "suspend and resume an upload", end: .failure(isCurl("8.7") ? .body : .timeout, statusCode: nil),
      script: { held($0, $1, $2) + [.close] }, configure: timesOut,
      interruption: .suspendAndResume, applies: { kind, _ in kind.hasFixedBody }),
    Scenario(name: "invalidateAndCancel", end: .cancelled, script: held, interruption: .invalidateAndCancel),
    Scenario(
      name: "finishTasksAndInvalidate", end: answered, script: { held($0, $1, $2) + [.response(body: body)] },
      interruption: .finishTasksAndInvalidate),
    Scenario(
      name: "session dropped", end: answered, script: { held($0, $1, $2) + [.response(body: body)] },
      interruption: .dropSession),
  ]

  static let challenges: [Scenario] = [
    Scenario(
      name: "401 answered from a delegate", end: answered, script: guarded,
      behaviour: .init(credential: credential), asksForCredentials: true,
      applies: { _, style in style == .sessionDelegate }),
    // Stock finds no credential in the storage.
    withoutCredential("401 with a credential in storage") { configuration, port in
      let space = URLProtectionSpace(
        host: "127.0.0.1", port: port, protocol: "http", realm: "cellar",
        authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
      configuration.urlCredentialStorage?.set(credential, for: space)
    },
    with(withoutCredential("401 about which no delegate is asked")) { $0.applies = { !$1.hasDelegate } },
    unanswered,
    with(unanswered) {
      ($0.name, $0.interruption) = ("401 without an answer, invalidateAndCancel", .invalidateAndCancel)
      $0.applies = { _, style in style == .sessionDelegate }
    },
    Scenario(
      "401 without a challenge", end: .response(statusCode: 401),
      .response("401 Unauthorized", body: Array("no".utf8))),
    with(
      Scenario(
        "401 with a scheme that Foundation cannot read", end: .response(statusCode: 401),
        .response("401 Unauthorized", headers: [("WWW-Authenticate", ",")]))
    ) { $0.asksForCredentials = true },
  ]

  private static let unanswered = Scenario(
    name: "401 without an answer", end: .cancelled, script: guardedUntilArrival,
    behaviour: .init(answers: false), interruption: .cancel, waitsForChallenge: true,
    asksForCredentials: true, applies: { $1.hasDelegate })

  /// Before Swift 6.3.2 stock waits for ever: the app cancels.
  private static func withoutCredential(
    _ name: String, configure: @escaping @Sendable (URLSessionConfiguration, Int) -> Void = { _, _ in }
  ) -> Scenario {
    let comesThrough = FoundationFix.endsWithoutCredential
    return Scenario(
      name: name, end: comesThrough ? .response(statusCode: 401) : .cancelled,
      script: comesThrough ? guarded : guardedUntilArrival, configure: configure,
      interruption: comesThrough ? .none : .cancel, waitsForChallenge: !comesThrough, asksForCredentials: true
    )
  }

  static let held: Script = { _, _, gates in [.signal(gates.arrived), .hold(gates.goOn)] }
  static let guardedUntilArrival: Script = { guarded($0, $1, $2) + [.signal($2.arrived)] }

  @Sendable static func timesOut(_ configuration: URLSessionConfiguration, port _: Int) {
    configuration.timeoutIntervalForRequest = 2
  }

  static let credential = URLCredential(user: "ada", password: "lovelace", persistence: .forSession)

  /// Lets a request with the credential in.
  static let guarded: Script = { _, request, _ in
    request.headers["authorization"] == "Basic YWRhOmxvdmVsYWNl"
      ? [.response(body: body)]
      : [.response("401 Unauthorized", headers: [("WWW-Authenticate", "Basic realm=\"cellar\"")])]
  }
}

/// What a later Foundation does otherwise, seen in what it does: it may be another one than the toolchain's.
private enum FoundationFix {
  /// Whether a 401 without a credential comes through to the app, as from Swift 6.3.2 on
  /// (swift-corelibs-foundation 5457). Before, its task never ends.
  static let endsWithoutCredential: Bool = {
    let challenge = OriginStep.response(
      "401 Unauthorized", headers: [("WWW-Authenticate", "Basic realm=\"a\"")])
    guard let origin = try? Origin({ _ in [challenge] }) else { return false }
    defer { origin.stop() }
    let delegate = TranscriptDelegate(.init(), uploadBody: [])
    let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
    let task = session.dataTask(with: origin.url())
    defer {
      task.cancel()
      session.finishTasksAndInvalidate()
    }
    task.resume()
    delegate.challenged.waitBlocking()
    // The queue is serial: if the task is complete now, its end comes before this.
    let isNext = Gate()
    session.delegateQueue.addOperation { isNext.open() }
    isNext.waitBlocking()
    return delegate.done.isOpen
  }()
}

import Foundation
import Synchronization
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What Foundation on Linux does to a loader that stands before the native one: what the tap builds on. A
/// toolchain that changes one of these facts fails a test, and the tap is to be looked at again.
@Suite struct LoaderFactTests {
  /// What happens to one request.
  private func events(
    _ kind: Kind, _ style: Style, _ origin: Origin, path: String = "/\(UUID().uuidString)",
    credential: URLCredential? = nil, _ prepare: (URLSessionConfiguration) -> Void = { _ in },
    _ change: (inout Exchange) -> Void = { _ in }
  ) async throws -> (events: [String], transcript: Transcript) {
    var request = URLRequest(url: origin.url(path))
    request.httpMethod = kind.sendsBody ? "POST" : "GET"
    var exchange = Exchange(kind: kind, style: style, request: request)
    exchange.behaviour.credential = credential
    change(&exchange)
    let configuration = SpyProtocol.configuration()
    prepare(configuration)
    let transcript = try await exchange.run(configuration)
    return (SpyProtocol.events(origin.url(path)).filter { $0 != "canInit" }, transcript)
  }

  @Test func `the native loaders are reachable through the default configuration`() {
    let classes = URLSessionConfiguration.default.protocolClasses ?? []
    #expect(classes.map { "\($0)" } == ["_HTTPURLProtocol", "_FTPURLProtocol", "_WebSocketURLProtocol"])
    #expect(classes.allSatisfy { $0 is URLProtocol.Type })
  }

  @Test func `a completion handler's loader tells the data at the end and no head`() async throws {
    let origin = try Origin { _ in [.response(body: [1, 2, 3])] }
    defer { origin.stop() }
    for style in [Style.async, .completionHandler] {
      let events = try await events(.data, style, origin).events
      #expect(events == ["init", "body none", "start", "data", "finish 200"])
    }
  }

  @Test func `a delegate's loader tells the head, and the data goes past the client`() async throws {
    let origin = try Origin { _ in [.response(body: [1, 2, 3])] }
    defer { origin.stop() }
    let (events, transcript) = try await events(.data, .sessionDelegate, origin)
    #expect(events == ["init", "body none", "start", "response", "finish 200"])
    #expect(transcript.body == [1, 2, 3])
    // Sent, expected to send, received, expected to receive.
    #expect(transcript.counts == [0, 0, 0, 3])
  }

  @Test func `a download's loader tells neither head nor data, and its delegate's task counts`() async throws
  {
    let origin = try Origin { _ in [.chunked(body: [1, 2, 3], chunk: 2)] }
    defer { origin.stop() }
    for style in [Style.async, .completionHandler, .sessionDelegate] {
      let (events, transcript) = try await events(.download, style, origin)
      #expect(events == ["init", "body none", "start", "finish 200"])
      #expect(transcript.body == [1, 2, 3])
      if style == .sessionDelegate { #expect(transcript.counts == [0, 0, 3, -1]) }
    }
  }

  @Test(arguments: [Kind.uploadData, .uploadFile], [Style.async, .sessionDelegate])
  func `an upload's body is on the task, where no loader can read it`(kind: Kind, style: Style) async throws {
    let origin = try Origin { _ in [.response()] }
    defer { origin.stop() }
    let (events, transcript) = try await events(kind, style, origin)
    #expect(events.contains("body none"))
    #expect(origin.requests.map(\.body) == [Array("the body of an upload".utf8)])
    if style == .sessionDelegate { #expect(transcript.counts[1] == 21) }
  }

  @Test func `additional headers of the configuration are not in the request`() async throws {
    let origin = try Origin { _ in [.response()] }
    defer { origin.stop() }
    let events = try await events(
      .data, .async, origin, { $0.httpAdditionalHeaders = ["X-Additional": "yes"] }
    )
    .events
    #expect(!events.contains("header yes"))
    #expect(origin.requests.first?.headers["x-additional"] == "yes")
  }

  @Test func `no protocol can change what the native loader sends`() async throws {
    let origin = try Origin { _ in [.response()] }
    defer { origin.stop() }
    _ = try await events(.data, .async, origin)
    #expect(origin.requests.count == 1)
    #expect(origin.requests.first?.headers["x-canonical"] == nil)
  }

  @Test(arguments: [Kind.data, .download], [true, false])
  func `the context of a Swift task is there when a protocol is asked, and gone when it starts`(
    kind: Kind, hasCache: Bool
  ) async throws {
    let origin = try Origin { _ in [.response()] }
    defer { origin.stop() }
    let events = try await SpyProtocol.$marker.withValue(true) {
      try await self.events(kind, .async, origin, { if !hasCache { $0.urlCache = nil } }).events
    }
    let isMadeWithinResume = kind == .download || !hasCache
    #expect(
      events.filter { $0.hasPrefix("marker") }
        == ["marker in canInit"] + (isMadeWithinResume ? ["marker in init"] : []))
  }

  @Test(.needs(.sessionQueue)) func `a protocol that blocks holds up every session`() async throws {
    let origin = try Origin { _ in [.response()] }
    defer { origin.stop() }
    let configuration = URLSessionConfiguration.ephemeral
    configuration.protocolClasses = [BlockingProtocol.self]
    let session = URLSession(configuration: configuration)
    BlockingProtocol.other.withLock { $0 = origin.url() }
    _ = try await session.data(from: origin.url("/blocked"))
    session.finishTasksAndInvalidate()
    #expect(BlockingProtocol.otherArrivedInTime.withLock { $0 } == false)
    _ = try await Poll.until("the other session's request") { origin.requests.isEmpty ? nil : true }
  }

  @Test func `a protocol is not asked about a task`() async throws {
    let origin = try Origin { _ in [.response()] }
    defer { origin.stop() }
    let events = try await events(.data, .async, origin).events
    #expect(!events.contains("canInit with task"))
  }

  @Test(arguments: [Kind.data, .download])
  func `a protocol is chosen, and made where no cache is asked, within resume`(kind: Kind) async throws {
    let origin = try Origin { _ in [.response()] }
    defer { origin.stop() }
    let configuration = SpyProtocol.configuration()
    if kind == .data { configuration.urlCache = nil }
    let session = URLSession(configuration: configuration)
    let url = origin.url("/\(UUID().uuidString)")
    let isResumed = Gate()
    Thread {
      let task = kind == .data ? session.dataTask(with: url) : session.downloadTask(with: url)
      task.resume()
      SpyProtocol.note("resumed", for: url)
      isResumed.open()
    }.start()
    try await isResumed.wait("the end of resume()")
    let events = SpyProtocol.events(url)
    let resumed = try #require(events.firstIndex(of: "resumed"))
    #expect(events.firstIndex(of: "canInit") ?? .max < resumed)
    #expect(events.firstIndex(of: "init") ?? .max < resumed)
    session.invalidateAndCancel()
  }

  @Test func `a redirect is the native loader's own affair`() async throws {
    let origin = try Origin { request in
      request.path == "/end" ? [.response()] : [.response("302 Found", headers: [("Location", "/end")])]
    }
    defer { origin.stop() }
    let events = try await events(.data, .sessionDelegate, origin).events
    #expect(events == ["init", "body none", "start", "response", "finish 200"])
  }

  @Test func `the second leg after a challenge has a loader of Foundation's own`() async throws {
    let origin = try Origin { request in
      request.headers["authorization"] != nil
        ? [.response(body: [1])]
        : [.response("401 Unauthorized", headers: [("WWW-Authenticate", "Basic realm=\"cellar\"")])]
    }
    defer { origin.stop() }
    let (events, transcript) = try await events(
      .data, .sessionDelegate, origin, credential: Scenario.credential)
    #expect(transcript.status == 200)
    // The suspension and the resumption between the legs reach the new loader or none.
    #expect(
      events.filter { !$0.hasPrefix("stop") } == [
        "init", "body none", "start", "response", "finish 401",
      ])
  }

  /// `_Challenge.challenges(from:)` in `HTTPMessage.swift` reads no scheme but Basic.
  @Test(arguments: [
    #"Digest realm="cellar", qop="auth", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c0""#, "NTLM", "Basic",
  ])
  func `a challenge other than Basic with a realm can be answered by no one`(challenge: String) async throws {
    let origin = try Origin { _ in [.response("401 Unauthorized", headers: [("WWW-Authenticate", challenge)])]
    }
    defer { origin.stop() }
    let (events, transcript) = try await events(
      .data, .sessionDelegate, origin, credential: Scenario.credential)
    #expect(events == ["init", "body none", "start", "response", "finish 401"])
    #expect(transcript.status == 401)
    #expect(origin.requests.count == 1)
  }

  @Test func `a cancel is told by a stop alone`() async throws {
    let (arrived, goOn) = (Gate(), Gate())
    let origin = try Origin { _ in [.signal(arrived), .hold(goOn)] }
    defer { origin.stop() }
    let (events, transcript) = try await events(.data, .completionHandler, origin, { _ in }) {
      $0.interruption = .cancel
      $0.isDue = arrived
      $0.goOn = goOn
    }
    #expect(transcript.error == "NSURLErrorDomain -999")
    let canceling = URLSessionTask.State.canceling.rawValue
    #expect(events == ["init", "body none", "start", "stop \(canceling)"])
  }

  @Test func `a suspension is a stop, and a resumption starts the same loader again`() async throws {
    let (arrived, goOn) = (Gate(), Gate())
    let origin = try Origin { _ in [.signal(arrived), .hold(goOn), .response()] }
    defer { origin.stop() }
    let events = try await events(.data, .completionHandler, origin, { _ in }) {
      $0.interruption = .suspendAndResume
      $0.isDue = arrived
      $0.goOn = goOn
    }.events
    #expect(events.filter { $0.hasPrefix("init") }.count == 1)
    #expect(events.filter { $0 == "start" }.count == 2)
    // By the time that the stop arrives the task may run again.
    #expect(events.contains { $0.hasPrefix("stop") })
  }

  @Test func `a response from the cache is told as such`() async throws {
    let origin = try Origin { _ in [.response(headers: [("Cache-Control", "max-age=60")], body: [1, 2])] }
    defer { origin.stop() }
    let configuration = SpyProtocol.configuration()
    let path = "/\(UUID().uuidString)"
    let exchange = Exchange(
      kind: .data, style: .sessionDelegate, request: URLRequest(url: origin.url(path)))
    let first = try await exchange.run(configuration)
    let second = try await exchange.run(configuration)
    #expect(second.body == first.body)
    let events = SpyProtocol.events(origin.url(path))
    #expect(events.contains("from cache") == (origin.requests.count == 1))
  }

  @Test func `task metrics never arrive`() async throws {
    let origin = try Origin { _ in [.response()] }
    defer { origin.stop() }
    let delegate = NamingDelegate()
    let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
    _ = try await session.data(for: URLRequest(url: origin.url()), delegate: delegate)
    session.dataTask(with: origin.url()).resume()
    session.finishTasksAndInvalidate()
    _ = try await Poll.until("the end of the session") { delegate.called.contains("invalid") ? true : nil }
    #expect(delegate.called.contains("complete 0"))
    #expect(!delegate.called.contains("metrics"))
  }

  @Test func `a property of a request does not survive the bridge`() throws {
    let mutable = NSMutableURLRequest(url: try #require(URL(string: "http://host.test/")))
    URLProtocol.setProperty("value", forKey: "key", in: mutable)
    #expect(URLProtocol.property(forKey: "key", in: mutable as URLRequest) == nil)
  }
}

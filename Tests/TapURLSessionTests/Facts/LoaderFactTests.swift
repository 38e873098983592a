import TestSupport

/// What Foundation on Linux does to a loader that stands before the native one, as far as the tap builds on
/// it. A toolchain that changes one of these facts fails a test, and the tap is to be looked at again.
@Suite struct LoaderFactTests {
  private static func events(
    _ kind: Kind, _ style: Style, _ origin: Origin, _ change: (inout AppCall) -> Void = { _ in }
  ) async throws -> (events: [String], transcript: Transcript) {
    let url = origin.url("/\(UUID().uuidString)")
    let request = with(URLRequest(url: url)) { $0.httpMethod = kind.sendsBody ? "POST" : "GET" }
    var exchange = AppCall(kind: kind, style: style, request: request)
    change(&exchange)
    let transcript = try await exchange.run(SpyProtocol.configuration())
    return (SpyProtocol.events(url), transcript)
  }

  @Test func `the native loaders are reachable through the default configuration`() {
    let classes = URLSessionConfiguration.default.protocolClasses ?? []
    #expect(classes.map { "\($0)" } == ["_HTTPURLProtocol", "_FTPURLProtocol", "_WebSocketURLProtocol"])
    #expect(classes.allSatisfy { $0 is URLProtocol.Type })
  }

  /// A completion handler's loader tells the data at the end and no head; a delegate's tells the head, and
  /// the data goes past the client; a download's tells neither. The body of an upload is on the task, where
  /// no loader can read it.
  @Test(arguments: [
    (Kind.data, Style.async, ["data"], []), (.data, .completionHandler, ["data"], [0, 0, 0, 3]),
    (.data, .sessionDelegate, ["response"], [0, 0, 0, 3]), (.download, .async, [], []),
    (.download, .completionHandler, [], [0, 0, 0, 3]), (.download, .sessionDelegate, [], [0, 0, 3, 3]),
    (.uploadData, .sessionDelegate, ["response"], [21, 21, 0, 3]),
    (.uploadFile, .sessionDelegate, ["response"], [21, 21, 0, 3]),
  ])
  func `what a loader tells, and what its task counts`(
    kind: Kind, style: Style, told: [String], counts: [Int64]
  ) async throws {
    // A redirect is the native loader's own affair.
    let origin = try Origin { request in
      request.path == "/end" || kind.sendsBody ? [.response(body: [1, 2, 3])] : [.redirect(to: "/end")]
    }
    let (events, transcript) = try await Self.events(kind, style, origin)
    #expect(events == ["init", "body none", "start"] + told + ["finish 200"])
    #expect(transcript.body == [1, 2, 3])
    // Sent, expected to send, received, expected to receive.
    #expect(transcript.counts == counts)
    if kind.sendsBody { #expect(origin.requests.map(\.body.count) == [21]) }
  }

  @Test func `the second leg after a challenge has a loader of Foundation's own`() async throws {
    let origin = try Origin { Scenario.guarded(0, $0, Scenario.Gates()) }
    let (events, transcript) = try await Self.events(.data, .sessionDelegate, origin) {
      $0.behaviour.credential = Scenario.credential
    }
    #expect(transcript.status == 200)
    // The suspension and the resumption between the legs reach the new loader or none.
    let told = events.filter { !$0.hasPrefix("stop") }
    #expect(told == ["init", "body none", "start", "response", "finish 401"])
  }

  @Test func `a cancel is told by a stop alone`() async throws {
    let (arrived, goOn) = (Gate(), Gate())
    let origin = try Origin { _ in [.signal(arrived), .hold(goOn)] }
    let (events, transcript) = try await Self.events(.data, .completionHandler, origin) {
      ($0.interruption, $0.isDue, $0.goOn) = (.cancel, arrived, goOn)
    }
    #expect(transcript.error == "NSURLErrorDomain -999")
    #expect(events == ["init", "body none", "start", "stop \(URLSessionTask.State.canceling.rawValue)"])
  }

  @Test func `a suspension is a stop, and a resumption starts the same loader again`() async throws {
    let (arrived, goOn) = (Gate(), Gate())
    let origin = try Origin { _ in [.signal(arrived), .hold(goOn), .response()] }
    let events = try await Self.events(.data, .completionHandler, origin) {
      ($0.interruption, $0.isDue, $0.goOn) = (.suspendAndResume, arrived, goOn)
    }.events
    #expect(events.filter { $0.hasPrefix("init") }.count == 1)
    #expect(events.filter { $0 == "start" }.count == 2)
    // By the time that the stop arrives the task may run again.
    #expect(events.contains { $0.hasPrefix("stop") })
  }
}

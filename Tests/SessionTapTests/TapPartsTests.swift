import TapEndpoint
import TapPage
import TapTesting
import TestSupport

@testable import SessionTap
@testable import TapURLSession

/// What a tap makes its parts of.
@Suite struct TapPartsTests {
  @Test func `a metric's name that the app has taken is an error of the metrics`() async throws {
    let registry = Registry()
    _ = try registry.gauge("session_tap_unknown_connections_total", help: "The app's own.")
    let error = #expect(throws: TapError.self) { try Tap(.test(), registry: registry) }
    #expect(error?.code == .metrics && error?.underlying is RegistryError)
  }

  @Test func `what the tap could not read is counted from the start`() throws {
    let tap = try Tap(.test())
    #expect(tap.registry.value(ofSeries: "session_tap_unknown_connections_total") == 0)
    for witness in ["libcurl", "kernel"] {
      let series = "session_tap_contradictions_total{witness=\"\(witness)\"}"
      #expect(tap.registry.value(ofSeries: series) != nil)
    }
    let name = "session_tap_contradictions_total"
    let help = "Transfers of which another source contradicted libcurl or the kernel."
    #expect(tap.registry.text.contains("# HELP \(name) \(help)\n# TYPE \(name) counter\n"))
    let other = "session_tap_unknown_connections_total"
    let otherHelp = "Requests whose connection the kernel could not be asked of."
    #expect(tap.registry.text.contains("# HELP \(other) \(otherHelp)\n# TYPE \(other) counter\n"))
    // The sessions count in it.
    try #require(tap.sessions.configuration.unknownConnections).increment()
    #expect(tap.registry.value(ofSeries: other) == 1)
  }

  @Test func `where nothing tells of transfers, a metric and the log say so`() throws {
    let tap = try Tap(.test(log: .memory) { ($0.sessions.curl, $0.servesLog) = (nil, true) })
    let labels = #"connection_info="none",transfer_info="none",version="\#(BuildInfo.version)""#
    #expect(tap.registry.value(ofSeries: "session_tap_build_info{\(labels)}") == 1)
    let log = try #require(tap.requestLog)
    #expect(log.flush())
    let message =
      "libcurl tells nothing of transfers on this toolchain: sizes come from headers, phases are unknown"
    #expect(log.recentText.contains("\"message\":\"\(message)\""))
    #expect(log.recentText.contains(#""severity":"WARN""#))
  }

  @Test func `a source that is used no more is named in the log`() throws {
    let configuration = Tap.Configuration.test()
    let log = try RequestLog(
      to: .memory, configuration: with(RequestLog.Configuration()) { $0.recentLineLimit = 10 })
    let report = try #require(configuration.makeSessions(log: log).reportDisbelief)
    report("why")
    #expect(log.flush())
    #expect(log.recentText.contains(#""message":"why""#) && log.recentText.contains(#""severity":"WARN""#))
  }

  @Test func `headers are collected only where the log shows some`() {
    #expect(!Tap.Configuration.test().makeSessions(log: nil).collectsHeaders)
  }

  @Test func `no line is kept that nobody asked for`() throws {
    let log = try #require(Tap(.test(log: .memory)).requestLog)
    log.log(.info, "hello")
    #expect(log.flush(within: .seconds(100)))
    #expect(log.statistics.lines == 1 && log.recent().isEmpty)
  }

  @Test func `each direction has its own configuration`() throws {
    let tap = try Tap.testing {
      $0.outbound.pathTemplates = ["/made/{id}"]
      $0.inbound.pathTemplates = ["/served/{id}"]
    }
    for path in ["/made/1", "/served/1"] {
      tap.outbound.begin(client: "c", method: "GET", url: "http://a\(path)").end(statusCode: 200)
      tap.inbound.begin(method: "GET", path: path).end(statusCode: 200)
    }
    let templates = tap.recordedRequests().map(\.request.urlTemplate)
    #expect(templates == ["/made/{id}", nil, nil, "/served/{id}"])
  }

  /// What may take milliseconds, or wait for a lock or a queue.
  @Test func `no answer of a tap's own is made on the queue of all connections`() throws {
    let tap = try Tap(.test(log: .memory))
    let log = try #require(tap.requestLog)
    let routes: [EndpointRoute] = [
      .logs(of: log), .requests(of: tap.recorder, as: log), .waits(PageWaits(tap.recorder)),
      .history(PageHistory(tap.recorder)),
    ]
    for route in routes {
      let isDeferred = if case .deferred = route.handler { true } else { false }
      #expect(isDeferred, "\(route.path)")
    }
  }

  @Test func `a session has the app's configuration, delegate and queue`() throws {
    let tap = try Tap(.test())
    let (delegate, queue) = (CompletionDelegate(), OperationQueue())
    let configuration = with(URLSessionConfiguration.ephemeral) { $0.httpMaximumConnectionsPerHost = 3 }
    let session = tap.session(
      client: "c", configuration: configuration, delegate: delegate, delegateQueue: queue)
    #expect(session.configuration.httpMaximumConnectionsPerHost == 3)
    #expect(session.delegate === delegate)
    #expect(session.delegateQueue === queue)
    session.invalidateAndCancel()
  }

  @Test func `a history is kept for a page alone`() throws {
    for hasEndpoint in [false, true] {
      let tap = try Tap(.test { if !hasEndpoint { $0.endpoint = nil } })
      #expect((tap.recorder.history(of: .outbound) != nil) == hasEndpoint)
    }
  }

  @Test func `a tracer is asked all that the tap is to know`() throws {
    struct Tracer: RequestTracer {
      let traces = (0..<4).map { _ in TraceContext.random() }

      var currentTrace: TraceContext? { traces[0] }
      func beginClientSpan() -> TraceContext { traces[1] }
      func beginClientSpan(in parent: TraceContext) -> TraceContext {
        parent == traces[0] ? traces[2] : traces[1]
      }
      func beginServerSpan(method: String, headers: (String) -> String?) -> TraceContext {
        method == "PUT" && headers("a") == "b" ? traces[3] : traces[0]
      }
      func requestEnded(_ observation: RequestObservation) {}
    }
    let made = Tracer()
    let configuration = Tap.Configuration.test { $0.tracer = made }
    let tracer = try #require(configuration.makeTracer())
    let served = tracer.beginServerSpan(method: "PUT") { $0 == "a" ? "b" : nil }
    let asked = [
      tracer.currentTrace, tracer.beginClientSpan(), tracer.beginClientSpan(in: made.traces[0]), served,
    ]
    #expect(asked.compactMap { $0 } == made.traces)
  }
}

import TestSupport

@testable import TapPage

/// What is concluded from what was seen: a table of what a service has seen, and what is said of it.
struct DiagnosisTests {
  /// A service at 12:00:00 that calls `payments` and `rates` for each request of a route, ten minutes old.
  struct Scene {
    static let payments = RequestKind(client: "payments", server: "pay.test", method: "POST", path: "/charge")
    static let rates = RequestKind(client: "rates", server: "rates.test", method: "GET", path: "/rates")
    static let checkout = RequestKind(isMade: false, method: "GET", path: "/checkout")

    var evidence: Evidence

    init() {
      let now = Instant(nanoseconds: 10_000_000_000_000)
      evidence = Evidence(
        now: now, time: Timestamp(nanosecondsSinceEpoch: 1_763_726_400_000_000_000),
        start: Instant(nanoseconds: now.nanoseconds - 600_000_000_000))
      evidence.steps = stride(from: 600, to: 0, by: -5).map { age in
        Evidence.Step(
          begin: Instant(nanoseconds: now.nanoseconds - Int64(age) * 1_000_000_000), busyProcessors: 0.25)
      }
    }

    /// Changes each step that begins within these seconds before now.
    private mutating func change(_ ages: ClosedRange<Int>, _ change: (inout [RequestKind: Tally]) -> Void) {
      for index in evidence.steps.indices {
        let age = (evidence.now.nanoseconds - evidence.steps[index].begin.nanoseconds) / 1_000_000_000
        if ages.contains(Int(age)) { change(&evidence.steps[index].tallies) }
      }
    }

    mutating func add(_ kind: RequestKind, _ ages: ClosedRange<Int>, _ tally: Tally) {
      change(ages) { $0[kind, default: Tally()] += tally }
    }

    mutating func replace(_ kind: RequestKind, _ ages: ClosedRange<Int>, _ tally: Tally) {
      change(ages) { $0[kind] = tally }
    }

    /// Twenty requests a step, as they usually are.
    static var usual: Scene {
      var scene = Scene()
      scene.add(payments, 1...600, made(20, 0.01))
      scene.add(rates, 1...600, made(20, 0.005))
      scene.add(checkout, 1...600, served(20, 0.03, ["payments": (20, 0.01), "rates": (20, 0.005)]))
      return scene
    }

    /// - Parameter mean: In seconds.
    static func made(
      _ count: Int, _ mean: Double, _ phase: RequestTimings.Phase = .processing, of time: Double? = nil
    )
      -> Tally
    {
      with(Tally()) {
        ($0.count, $0.answered, $0.seconds, $0.longest) = (count, count, Double(count) * mean, 2 * mean)
        $0.buckets = [mean: count]
        $0.phases = [phase: Double(count) * (time ?? mean), .transfer: 0]
      }
    }

    static func failed(_ count: Int, _ failure: String, calls: [String: Int] = [:]) -> Tally {
      with(Tally()) { ($0.count, $0.failures, $0.calls) = (count, [failure: count], calls) }
    }

    /// - Parameter mean: What each took, and in which phase.
    static func timedOut(_ count: Int, _ mean: Double, _ phase: RequestTimings.Phase) -> Tally {
      with(failed(count, "timeout")) {
        $0.timeouts = .init(time: Double(count) * 2, phases: [phase: Double(count) * mean, .local: 0.01])
      }
    }

    static func refused(_ count: Int, _ failure: String) -> Tally {
      with(made(count, 0.01)) { $0.failures = [failure: count] }
    }

    /// - Parameter clients: The calls, and what each took.
    static func served(_ count: Int, _ mean: Double, _ clients: [String: (calls: Int, mean: Double)] = [:])
      -> Tally
    {
      with(made(count, mean)) {
        $0.phases = [:]
        $0.clients = clients.mapValues { .init(calls: $0.calls, seconds: Double($0.calls) * $0.mean) }
        $0.upstream = $0.clients.values.reduce(.init(), +)
        $0.calls = clients.mapValues(\.calls)
      }
    }
  }

  private static let cases: KeyValuePairs<String, @Sendable (inout Scene) -> Void> = [
    "as usual": { _ in },
    "500s": { $0.replace(Scene.payments, 1...20, Scene.made(2, 0.01) + Scene.failed(18, "500")) },
    "two of many": { $0.replace(Scene.payments, 10...10, Scene.made(18, 0.01) + Scene.failed(2, "503")) },
    "refused": {
      $0.replace(Scene.payments, 1...10, Scene.failed(5, "connect"))
      $0.replace(Scene.checkout, 1...10, Scene.failed(5, "502", calls: ["payments": 5]))
      // Its callers' mistakes are no one else's.
      let refused = with(Scene.refused(5, "404")) { $0.calls = ["payments": 5] }
      $0.add(RequestKind(isMade: false, method: "GET", path: "/x"), 1...10, refused)
    },
    "several": {
      $0.replace(
        Scene.payments, 1...30, Scene.made(10, 0.01) + Scene.failed(3, "timeout") + Scene.failed(4, "503"))
    },
    "over": { $0.replace(Scene.payments, 20...30, Scene.failed(20, "500")) },
    "always, one in ten": {
      $0.replace(Scene.payments, 1...600, Scene.made(18, 0.01) + Scene.failed(2, "503"))
    },
    "three in a quarter of an hour, all failed": {
      $0.replace(Scene.payments, 1...600, Tally())
      for age in [10, 200, 400] { $0.replace(Scene.payments, age...age, Scene.failed(1, "tls")) }
    },
    "time-outs, of one phase and of several": {
      $0.replace(Scene.payments, 1...10, Scene.timedOut(5, 1.9, .processing))
      $0.replace(Scene.rates, 1...10, Scene.timedOut(4, 0.9, .processing))
    },
    "whose failures": {
      for (number, type) in RequestErrorType.allCases.enumerated() where type != .timeout {
        let kind = RequestKind(client: "\(number)", server: "a", method: "GET")
        $0.add(kind, 1...10, Scene.failed(20 - number, type.rawValue))
      }
      let served = RequestKind(isMade: false, method: "GET", path: "/x")
      $0.add(served, 1...10, Scene.failed(5, "connection_lost"))
      $0.add(RequestKind(method: "GET"), 1...10, Scene.failed(3, "520"))
    },
    "a key has expired": { $0.replace(Scene.rates, 1...15, Scene.refused(20, "401")) },
    "what is often not there": {
      $0.replace(Scene.rates, 1...600, Scene.made(5, 0.005) + Scene.refused(15, "404"))
    },
    "callers that ask for nothing": { $0.add(Scene.checkout, 1...30, Scene.refused(40, "404")) },
    "hangs before the limit": {
      $0.evidence.active = [
        .init(kind: Scene.payments, age: 12, wait: .response, idle: 12),
        .init(kind: Scene.payments, age: 11, wait: .response, idle: 11),
        .init(kind: Scene.payments, age: 10, wait: .queue, idle: 10),
        .init(kind: Scene.checkout, age: 13, wait: .request, causes: [0]),
        .init(kind: Scene.checkout, age: 12, wait: .request, causes: [1]),
        .init(kind: Scene.checkout, age: 12, wait: .handler),
      ]
    },
    "active, and no trouble": {
      let stream = RequestKind(client: "events", server: "e.test", method: "GET", path: "/events")
      $0.add(stream, 300...300, Scene.made(20, 8))
      $0.evidence.active = [
        // As long as others took; one of which nothing else is known; one that has just gone on; that may
        // have.
        .init(kind: stream, age: 25, wait: .response, idle: 25),
        .init(kind: RequestKind(client: "new", method: "GET"), age: 25, wait: .response, idle: 25),
        .init(kind: Scene.payments, age: 12, wait: .response, idle: 1),
        .init(kind: Scene.payments, age: 50, wait: .body, idle: 29),
        .init(kind: Scene.payments, age: 50, wait: .body),
        .init(kind: Scene.checkout, age: 50, wait: .client),
      ]
    },
    "none has ended": {
      $0 = Scene()
      $0.evidence.start = Instant(nanoseconds: $0.evidence.now.nanoseconds - 7_940_000_000)
      $0.evidence.active = [.init(kind: Scene.payments, age: 8.02, wait: .response, idle: 8)]
    },
    "hangs without a past": {
      $0.evidence.active = [
        .init(
          kind: RequestKind(client: "new", server: "new.test", method: "PUT"), age: 31, wait: .tls, idle: 31
        )
      ]
    },
    "a held queue": {
      ($0.evidence.held, $0.evidence.unstarted) = (HeldQueue(duration: .seconds(8)), 2)
      $0.evidence.active = [
        .init(kind: Scene.payments, age: 8, wait: .start),
        .init(kind: Scene.payments, age: 7, wait: .start),
        .init(kind: Scene.rates, age: 8),
      ]
    },
    "not started, by whatever cause": {
      $0.evidence.unstarted = 1
      $0.evidence.active = [.init(kind: Scene.rates, age: 3, wait: .start)]
    },
    "no threads": { $0.evidence.held = HeldQueue(duration: .seconds(65), lacksThreads: true) },
    "a slow upstream": {
      $0.replace(Scene.payments, 1...10, Scene.made(20, 0.38))
      $0.replace(
        Scene.checkout, 1...10, Scene.served(20, 0.412, ["payments": (20, 0.38), "rates": (20, 0.005)]))
    },
    "a slow look-up": { $0.replace(Scene.rates, 1...10, Scene.made(5, 2.01, .resolve, of: 2)) },
    "a slow upstream, which many do not wait for": {
      $0.replace(
        Scene.checkout, 1...30,
        Scene.served(1, 1.81, ["payments": (1, 1.76)])
          + with(Scene.failed(2, "502", calls: ["payments": 2])) { $0.count += 1 })
    },
    "ten calls for one, of which most fail": {
      $0.replace(
        Scene.checkout, 1...10,
        Scene.served(2, 0.13, ["payments": (20, 0.01)]) + Scene.failed(18, "502", calls: ["payments": 180]))
    },
    "a tail": { $0.replace(Scene.rates, 1...30, Scene.made(17, 0.005) + Scene.made(3, 1.5)) },
    "as slow as ever": { $0.replace(Scene.rates, 1...600, Scene.made(20, 2)) },
    "slow, and over": { $0.replace(Scene.rates, 15...30, Scene.made(20, 2)) },
    "a busy app": {
      $0.replace(
        Scene.checkout, 1...20, Scene.served(20, 0.43, ["payments": (20, 0.02), "rates": (20, 0.01)]))
      $0.replace(Scene.rates, 1...20, Scene.made(20, 0.3, .local, of: 0.29))
      for index in $0.evidence.steps.indices.suffix(4) { $0.evidence.steps[index].busyProcessors = 1.9 }
    },
    "ten calls for one": {
      $0.replace(Scene.payments, 1...10, Scene.made(200, 0.01))
      $0.replace(
        Scene.checkout, 1...10, Scene.served(20, 0.13, ["payments": (200, 0.01), "rates": (20, 0.005)]))
    },
    "always ten calls": {
      $0.replace(Scene.checkout, 1...600, Scene.served(20, 0.13, ["payments": (200, 0.01)]))
    },
    "an app that has just begun": {
      $0 = Scene()
      $0.evidence.start = Instant(nanoseconds: $0.evidence.now.nanoseconds - 12_000_000_000)
      $0.evidence.isWhole = true
      $0.add(Scene.rates, 1...12, Scene.made(3, 1.5))
    },
    "no requests": { $0 = Scene() },
    "names of any kind": {
      let kind = RequestKind(client: "a\nb\u{1B}[2J\u{202E}\u{2066}", server: "\"}", method: "GET")
      $0.add(kind, 1...10, Scene.failed(5, "x\r\ny"))
      $0.evidence.previousEnd = "The process before this one was killed."
    },
  ]

  @Test func `says what is wrong, the worst first, and no more than was seen`() {
    let said = Self.cases.map { name, change in
      var scene = Scene.usual
      change(&scene)
      return "# \(name)\n\(Diagnosis(scene.evidence).text)"
    }
    expectEqual(said.joined(), Self.said)
  }

  private static let said = #"""
    # as usual
    All is well: 360 requests ended in the last 30 s, and none of them failed.
    # 500s
    72 of 80 requests of `payments` to POST pay.test/charge failed since 11:59:40 (0 of 1140 before): the server answered 500 Internal Server Error.
    # two of many
    All is well: 360 requests ended in the last 30 s, and 2 of them failed.
    Known, and no trouble now:
    2 of 40 requests of `payments` to POST pay.test/charge failed since 11:59:50 (0 of 1140 before): the server answered 503 Service Unavailable.
    # refused
    10 of 10 requests of `payments` to POST pay.test/charge failed since 11:59:50 (0 of 1140 before): connect, no connection could be made (the server, or the way to it).
    10 of 10 served requests of GET /checkout failed since 11:59:50 (0 of 1140 before): this app answered 502 Bad Gateway; requests of `payments`, which it calls, failed too.
    Known, and no trouble now:
    10 of 10 served requests of GET /x were answered with a 4xx since 11:59:50: 404 Not Found.
    # several
    42 of 102 requests of `payments` to POST pay.test/charge failed since 11:59:30 (0 of 1140 before): 24 × the server answered 503 Service Unavailable; 18 × timeout, no complete response in time.
    # over
    All is well: 360 requests ended in the last 30 s, and 60 of them failed.
    Known, and no trouble now:
    60 of 60 requests of `payments` to POST pay.test/charge failed from 11:59:30 to 11:59:45 (0 of 1140 before): the server answered 500 Internal Server Error.
    # always, one in ten
    12 of 120 requests of `payments` to POST pay.test/charge failed in the last 30 s, and so for 10 min or longer (114 of 1140 before): the server answered 503 Service Unavailable.
    # three in a quarter of an hour, all failed
    1 of 1 requests of `payments` to POST pay.test/charge failed since 11:59:50 (2 of 2 before): tls, the TLS handshake failed, or the certificate was refused.
    # time-outs, of one phase and of several
    10 of 10 requests of `payments` to POST pay.test/charge failed since 11:59:50 (0 of 1140 before): timeout, no complete response in time (most of it is processing, the wait for the server's answer).
    8 of 8 requests of `rates` to GET rates.test/rates failed since 11:59:50 (0 of 1140 before): timeout, no complete response in time.
    # whose failures
    38 of 38 requests of `1` to GET a failed since 11:59:50: dns, the host's name could not be resolved (the name, or the resolver).
    36 of 36 requests of `2` to GET a failed since 11:59:50: connect, no connection could be made (the server, or the way to it).
    34 of 34 requests of `3` to GET a failed since 11:59:50: connection_lost, the connection broke (the server, or the way to it).
    32 of 32 requests of `4` to GET a failed since 11:59:50: tls, the TLS handshake failed, or the certificate was refused.
    30 of 30 requests of `5` to GET a failed since 11:59:50: invalid_response, the answer is no HTTP response (the server, or a proxy before it).
    28 of 28 requests of `6` to GET a failed since 11:59:50: too_many_redirects, redirects without an end (the server).
    26 of 26 requests of `7` to GET a failed since 11:59:50: body, a body could not be read or stored (this app, or the body's encoding).
    24 of 24 requests of `8` to GET a failed since 11:59:50: unsupported_url, no loader takes the URL (this app).
    22 of 22 requests of `9` to GET a failed since 11:59:50: _OTHER.
    6 of 6 requests of – to GET without a route failed since 11:59:50: the server answered 520.
    10 of 10 served requests of GET /x failed since 11:59:50: connection_lost, the connection broke.
    # a key has expired
    60 of 60 requests of `rates` to GET rates.test/rates were answered with a 4xx since 11:59:45 (0 of 1140 before): 401 Unauthorized.
    # what is often not there
    All is well: 360 requests ended in the last 30 s, and none of them failed.
    Known, and no trouble now:
    90 of 120 requests of `rates` to GET rates.test/rates were answered with a 4xx in the last 30 s, and so for 10 min or longer (855 of 1140 before): 404 Not Found.
    # callers that ask for nothing
    All is well: 600 requests ended in the last 30 s, and none of them failed.
    Known, and no trouble now:
    240 of 360 served requests of GET /checkout were answered with a 4xx since 11:59:30 (0 of 1140 before): 404 Not Found.
    # hangs before the limit
    2 requests of `payments` to POST pay.test/charge wait for the response, the oldest since 11:59:48 (12 s); the longest of 2400 that were answered took 20 ms. 1 more request waits for a free connection. 2 served requests of GET /checkout wait because of this.
    1 served request of GET /checkout waits for the app's handler, the oldest since 11:59:48 (12 s); the longest of 2400 that were answered took 60 ms.
    # active, and no trouble
    All is well: 360 requests ended in the last 30 s, and none of them failed; 6 have been active for 5 s or longer, the oldest for 50 s.
    # none has ended
    No request has ended in the last 8 s; 1 has been active for 8 s, and waits for the response.
    # hangs without a past
    1 request of `new` to PUT new.test waits for the TLS handshake, the oldest since 11:59:29 (31 s).
    # a held queue
    URLSession has not started 2 requests of `payments` since 11:59:52 (8 s): something holds the queue of all sessions, such as a delegate or a body stream that does not return.
    # not started, by whatever cause
    URLSession has not started 1 request of `rates` since 11:59:57 (3 s): something holds the queue of all sessions, such as a delegate or a body stream that does not return.
    # no threads
    URLSession starts no request since 11:58:55 (1 min 5 s): Dispatch has no thread left, because blocks that do not return have all of them.
    # a slow upstream
    40 requests of `payments` to POST pay.test/charge took 380 ms on average since 11:59:50 (10 ms before): 380 ms of it is processing, the wait for the server's answer. GET /checkout waits for it: 412 ms on average, 385 ms of it waiting for `payments` and others, 2 calls.
    # a slow look-up
    10 requests of `rates` to GET rates.test/rates took 2.01 s on average since 11:59:50 (5 ms before), all of them over 1 s: 2 s of it is resolve, the look-up of the host's name. Look at the resolver, and make all requests with one session.
    # a slow upstream, which many do not wait for
    12 of 24 served requests of GET /checkout failed since 11:59:30 (0 of 1140 before): this app answered 502 Bad Gateway.
    6 of 24 served requests of GET /checkout took 1.81 s on average since 11:59:30 (30 ms before), all of them over 1 s (the other 18 failed or were cancelled): 1.76 s of it waiting for `payments`, 1 call.
    # ten calls for one, of which most fail
    36 of 40 served requests of GET /checkout failed since 11:59:50 (0 of 1140 before): this app answered 502 Bad Gateway.
    GET /checkout makes 10 calls of `payments` for each request since 11:59:50 (1 before): those that were answered took 130 ms on average, 100 ms of it waiting for `payments`, 10 calls.
    # a tail
    18 of 120 requests of `rates` to GET rates.test/rates took over 1 s since 11:59:30; all of them took 229 ms on average (5 ms before): 229 ms of it is processing, the wait for the server's answer.
    # as slow as ever
    All is well: 360 requests ended in the last 30 s, and none of them failed.
    Known, and no trouble now:
    120 requests of `rates` to GET rates.test/rates took 2 s on average in the last 30 s, and so for 10 min or longer (2 s before), all of them over 1 s: 2 s of it is processing, the wait for the server's answer.
    # slow, and over
    All is well: 360 requests ended in the last 30 s, and none of them failed.
    Known, and no trouble now:
    80 requests of `rates` to GET rates.test/rates took 2 s on average from 11:59:30 to 11:59:50 (5 ms before), all of them over 1 s: 2 s of it is processing, the wait for the server's answer.
    # a busy app
    80 served requests of GET /checkout took 430 ms on average since 11:59:40 (30 ms before): 400 ms of it the app's own; the process keeps 1.9 processors busy (0.25 before).
    80 requests of `rates` to GET rates.test/rates took 300 ms on average since 11:59:40 (5 ms before): 290 ms of it is local, this process; the process keeps 1.9 processors busy (0.25 before). Take load off this process.
    # ten calls for one
    GET /checkout makes 10 calls of `payments` for each request since 11:59:50 (1 before): 130 ms on average, 105 ms of it waiting for `payments` and others, 11 calls.
    # always ten calls
    All is well: 360 requests ended in the last 30 s, and none of them failed.
    # an app that has just begun
    All is well: 6 requests ended in the last 12 s, and none of them failed.
    Known, and no trouble now:
    6 requests of `rates` to GET rates.test/rates took 1.5 s on average since the start at 11:59:48, all of them over 1 s: 1.5 s of it is processing, the wait for the server's answer.
    # no requests
    All is well: no request ended in the last 30 s.
    # names of any kind
    10 of 10 requests of `a b [2J  ` to GET "} failed since 11:59:50: x  y.
    Known, and no trouble now:
    The process before this one was killed.

    """#

  /// A request that is made has phases, and one that is served has calls.
  @Test func `gives the figures of its kind`() throws {
    var scene = Scene.usual
    scene.replace(Scene.rates, 1...10, Scene.made(5, 2.01, .resolve, of: 2))
    scene.replace(Scene.checkout, 1...10, Scene.served(20, 0.43, ["payments": (20, 0.02)]))
    let figures = Diagnosis(scene.evidence).findings.sorted {
      $0.requests?.isMade == true && $1.requests?.isMade != true
    }
    .map { $0.figures.map { "\($0.name) \(Words.number($0.value))" }.joined(separator: ", ") }
    #expect(
      figures == [
        "requests 10, before_requests 1140, over_1_s 10, before_mean_s 0, mean_s 2.01, resolve_s 2, transfer_s 0",
        "requests 40, before_requests 1140, over_1_s 0, before_mean_s 0.03, mean_s 0.43, upstream_s 0.02, own_s 0.41, calls 1",
      ])
  }

  @Test func `says at most twenty things, the worst first`() {
    var scene = Scene.usual
    for number in 1...30 {
      let kind = RequestKind(client: "\(number)", server: "a", method: "GET")
      scene.add(kind, 1...10, Scene.failed(number, "500"))
      scene.add(kind, 1...10, Scene.made(30 - number, 0.01))
    }
    let clients = Diagnosis(scene.evidence).findings.map { $0.requests?.client ?? "" }
    let worst = (11...30).reversed().map { "\($0)" }
    #expect(clients == worst)
  }
}

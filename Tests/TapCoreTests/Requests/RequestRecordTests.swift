import TestSupport

@testable import TapCore

/// What consumers get of a request, wherever in its life the recorder drains.
struct RequestRecordTests {
  /// Writes down what a consumer hears.
  private static func observer(_ text: Watched<[String]>) -> CallingObserver {
    CallingObserver(
      started: { request in text.change { $0.append("start \(request.url)") } },
      ended: { observation in text.change { $0.append("\(observation.outcome) \(observation.request.url)") } }
    )
  }

  private struct Released: Sendable { weak let request: RequestRecord? }

  /// What two consumers hear of a request, each the same, and how many requests are unstarted and active, and
  /// calls of the served request within which it is made: at each `|`, which delivers, and once nothing has
  /// the request any more.
  ///
  /// - Parameter steps: `b` begins the request, `e` ends it with a response, `c` cancels it.
  private func live(_ steps: String) async throws -> String {
    let (texts, registry) = ((0..<2).map { _ in Watched<[String]>([]) }, Registry())
    let recorder = try RequestRecorder(registry: registry, consumers: texts.map(Self.observer))
    let served = RequestRecord(
      RequestDescription(direction: .inbound, method: "GET", traceContext: .random()),
      recorder: try RequestRecorder(registry: Registry()))
    served.begin()
    let description = RequestDescription(
      client: "c", method: "GET", url: "/", traceContext: TraceContext.random().within(served))
    var request: RequestRecord? = RequestRecord(description, recorder: recorder)
    func look() {
      let gauges = ["session_tap_unstarted_requests", "http_client_active_requests"]
      let counts = gauges.map { Int(registry.value(of: $0) ?? 0) }
      let calls = served.withCalls { $0.time(at: .now) }??.clients.first?.activeCount ?? -9
      for text in texts { text.change { $0.append("\(counts[0])\(counts[1])\(calls)") } }
    }
    for step in steps {
      switch step {
      case "b": request?.begin()
      case "e": request?.end(.response(statusCode: 200))
      case "c": request?.end(.cancelled)
      default: look()
      }
    }
    let released = Released(request: request)
    request = nil
    recorder.drain()
    // The recorder's thread may be the one that releases it.
    try await Poll.until("the release") { released.request == nil }
    look()
    let told = texts.map { $0.state.joined(separator: " ") }
    return told[0] == told[1] ? told[0] : told.joined(separator: ", and ")
  }

  /// A request that is given up may begin all the same: Foundation may start a loader that it has stopped.
  @Test func `is what the steps of its life make it, in whatever order they come and are delivered`()
    async throws
  {
    let rows = [
      ("|b|e|", "101 start / 011 ok / 000 000"), ("|b|c|", "101 start / 011 cancelled / 000 000"),
      ("be|", "start / ok / 000 000"), ("|be|", "101 start / ok / 000 000"),
      ("b|b|e|e|", "start / 011 011 ok / 000 000 000"),
      ("bec|", "start / ok / 000 000"), ("beb|", "start / ok / 000 000"),
      // Given up, or only made.
      ("c|", "000 000"), ("ccb|c|", "start / 011 cancelled / 000 000"),
      ("|c|b|c|", "101 000 start / 011 cancelled / 000 000"), ("|", "101 000"),
    ]
    var found: [String] = []
    for (steps, _) in rows { found.append(try await live(steps)) }
    expectEqual(found, rows.map(\.1))
  }

  @Test(arguments: 0..<4)
  func `a request lasts from its first begin to its first end`(drains: Int) throws {
    let observer = RecordingObserver()
    let recorder = try RequestRecorder(registry: Registry(), consumers: [observer])
    let request = RequestRecord(RequestDescription(method: "GET"), recorder: recorder)
    let start = Instant.now
    for second in [0, 1] {
      let time = Timestamp(nanosecondsSinceEpoch: 1_700_000_000_000_000_000 + Int64(second))
      request.begin(at: start.advanced(by: .seconds(second)), time: time)
      if drains & 1 == 1 { recorder.drain() }
    }
    for second in [5, 6] {
      request.end(.response(statusCode: 200 + second), at: start.advanced(by: .seconds(second))) {
        $0.responseBodySize = Int64(second)
      }
      if drains & 2 == 2 { recorder.drain() }
    }
    recorder.drain()
    #expect(observer.ended.count == 1)
    let seen = try #require(observer.ended.first)
    #expect(seen.start == Timestamp(nanosecondsSinceEpoch: 1_700_000_000_000_000_000))
    #expect((seen.duration, seen.end) == (.seconds(5), .response(statusCode: 205)))
    #expect(seen.responseBodySize == 5)
  }

  @Test func `a request that has ended, or will not begin, waits for nothing`() throws {
    let recorder = try RequestRecorder(registry: Registry(), consumers: [])
    for begins in [true, false] {
      let request = RequestRecord(RequestDescription(method: "GET"), recorder: recorder)
      if begins { request.begin() }
      let before = request.snapshot(since: .now, at: .now)
      request.end(.cancelled)
      let after = request.snapshot(since: .now, at: .now)
      // Of which nothing knows more: it is looked at at once.
      let isLookedAt = Gate()
      request.look { isLookedAt.open() }
      #expect(before != nil && after == nil && isLookedAt.isOpen)
    }
  }

  @Test(arguments: 0..<8)
  func `fields are added until the end`(drains: Int) throws {
    let observer = RecordingObserver()
    let recorder = try RequestRecorder(registry: Registry(), consumers: [observer])
    let request = recorder.inbound.begin(method: "GET", path: "/", fields: ["a": 1, "b": 1])
    if drains & 1 == 1 { recorder.drain() }
    request.add(["b": 2, "c": 2])
    if drains & 2 == 2 { recorder.drain() }
    request.add(["c": 3])
    request.end(statusCode: 200)
    request.add(["d": 4])
    if drains & 4 == 4 { recorder.drain() }
    request.add(["d": 5])
    recorder.drain()
    #expect(observer.ended.map(\.request.fields) == [["a": 1, "b": 2, "c": 3]])
  }

  private static func serve(_ recorder: RequestRecorder, _ path: String = "/") {
    recorder.inbound.begin(method: "GET", path: path).end(statusCode: 200)
  }

  @Test(.needs(.thread))
  func `a request delivers none, unless the thread that does is behind by the limit`() async throws {
    // What the documentation says.
    try #require((RequestRecorder.many, RequestRecorder.limit) == (1_024, 16_384))
    let (isStuck, mayGoOn, ended) = (Gate(), Gate(), Watched(0))
    let consumer = CallingObserver { _ in
      isStuck.open()
      mayGoOn.waitBlocking()
    } ended: { _ in
      ended.change { $0 += 1 }
    }
    let recorder = try RequestRecorder(registry: Registry(), consumers: [consumer])
    Self.serve(recorder)
    try await isStuck.wait("the worker")
    // On this thread: if it waited for the worker, or delivered, the worker would never go on.
    for _ in 0..<RequestRecorder.limit { Self.serve(recorder) }
    #expect(ended.state == 0)
    mayGoOn.open()
    // Memory is bounded, and nothing is lost.
    let count = 4 * RequestRecorder.limit
    var most = 0
    for number in 1...count {
      Self.serve(recorder)
      // With those from before.
      most = max(most, RequestRecorder.limit + 1 + number - ended.state)
    }
    #expect(most <= 2 * RequestRecorder.limit + 2)
    recorder.drain()
    #expect(ended.state == count + RequestRecorder.limit + 1)
  }

  @Test func `a thread whose work others have done ends, and leaves nothing behind`() async throws {
    struct Reference { weak var observer: RecordingObserver? }
    func record() throws -> Reference {
      let observer = RecordingObserver()
      let recorder = try RequestRecorder(registry: Registry(), consumers: [observer])
      Self.serve(recorder)
      recorder.reportUnfinished()
      return Reference(observer: observer)
    }
    let reference = try record()
    try await Poll.until(seconds: 20, "the end of the thread") { reference.observer == nil }
  }

  @Test func `a delivery that makes requests loses none, however many`() throws {
    let (own, ended) = (Watched<RequestRecorder?>(nil), Watched(0))
    // Its first request makes more than the queue takes.
    let consumer = CallingObserver { _ in
      guard let recorder = own.state else { return }
      own.change { $0 = nil }
      for _ in 0..<RequestRecorder.limit + 10 { Self.serve(recorder) }
    } ended: { _ in
      ended.change { $0 += 1 }
    }
    let recorder = try RequestRecorder(registry: Registry(), consumers: [consumer])
    own.change { $0 = recorder }
    Self.serve(recorder)
    // What the first delivers comes with the second.
    for _ in 0..<2 { recorder.drain() }
    #expect(ended.state == RequestRecorder.limit + 11)
  }

  @Test func `a drain returns once all that happened before is delivered, on whichever thread`() throws {
    let (paths, missing) = (Watched<Set<String>>([]), Watched(0))
    let consumer = CallingObserver(ended: { seen in paths.change { $0.insert(seen.request.url) } })
    let recorder = try RequestRecorder(registry: Registry(), consumers: [consumer])
    DispatchQueue.concurrentPerform(iterations: 4) { thread in
      for round in 0..<500 {
        let path = "/\(thread)/\(round)"
        Self.serve(recorder, path)
        recorder.drain()
        if !paths.state.contains(path) { missing.change { $0 += 1 } }
      }
    }
    #expect(missing.state == 0)
  }

  @Test(.needs(.thread)) func `each observer of the app's is told of each request, in order`() throws {
    let (texts, registry) = ((0..<2).map { _ in Watched<[String]>([]) }, Registry())
    let recorder = try RequestRecorder(registry: registry, observers: texts.map(Self.observer))
    for number in 1...2 { Self.serve(recorder, "/\(number)") }
    recorder.drain()
    #expect(recorder.flushObservers(until: .now.advanced(by: .seconds(60))))
    for text in texts { #expect(text.state == ["start /1", "ok /1", "start /2", "ok /2"]) }
    let name = "session_tap_observer_dropped_total"
    let help = "Calls of the app's own observers and tracer that were dropped, because too many waited."
    let lines = registry.lines.filter { $0.contains(name) }
    expectEqual(lines, ["# HELP \(name) \(help)", "# TYPE \(name) counter", "\(name) 0"])
  }
}

import TestSupport

@testable import TapCore

/// What the recorder says of requests that have not ended.
struct ActiveRequestsTests {
  private let registry = Registry()
  private let recorder: RequestRecorder

  init() throws { recorder = try RequestRecorder(registry: registry) }

  /// A source of which more is known once it has been looked at.
  private final class Source: RequestProgressSource {
    private let known: RequestProgress
    private let isHeld: Bool
    private let looks = Atomic(0)

    /// - Parameter isHeld: Whether no look comes to an end.
    init(_ known: RequestProgress, isHeld: Bool = false) { (self.known, self.isHeld) = (known, isHeld) }

    var lookCount: Int { looks.load(ordering: .relaxed) }
    var progress: RequestProgress { lookCount > 0 ? known : RequestProgress() }

    func look(then done: @escaping @Sendable () -> Void) {
      if isHeld { return }
      looks.add(1, ordering: .relaxed)
      done()
    }
  }

  private func makeRecord(_ source: Source? = nil) -> RequestRecord {
    RequestRecord(
      RequestDescription(client: "c", method: "GET", url: "http://host/", serverAddress: "host"),
      recorder: recorder, progress: source)
  }

  @Test func `a request that ends in its batch is never listed`() {
    let record = makeRecord()
    record.begin()
    record.end(.response(statusCode: 200))
    #expect(recorder.activeRequests().isEmpty)
    let labels = #"{client="c",http_request_method="GET",server_address="host"}"#
    #expect(registry.value(ofSeries: "http_client_oldest_active_request_seconds" + labels) == 0)
    #expect(registry.value(ofSeries: "session_tap_unstarted_requests") == 0)
  }

  @Test func `a request that hangs is listed until its end`() throws {
    let start = Instant.now
    let time = Timestamp(nanosecondsSinceEpoch: 1_700_000_000_000_000_000)
    let record = makeRecord()
    record.begin(at: start, time: time)
    let known = try #require(recorder.activeRequests().first)
    #expect(known.start == time)
    #expect(known.wait == nil)
    #expect(known.idleTime == nil)
    #expect(recorder.activeRequests(olderThan: .seconds(3_600)).isEmpty)
    let labels = #"{client="c",http_request_method="GET",server_address="host"}"#
    let samples = registry.samples(90, after: start)
    #expect(samples.contains("http_client_oldest_active_request_seconds\(labels) 90"))
    #expect(samples.contains("http_client_active_requests\(labels) 1"))
    // Younger ones change nothing.
    let others = (0..<40).map { _ in makeRecord() }
    for other in others { other.begin() }
    #expect(registry.samples(100, after: start).contains { $0.hasSuffix("\(labels) 100") })
    #expect(recorder.activeRequests().count == 41)
    for record in [record] + others { record.end(.cancelled) }
    #expect(recorder.activeRequests().isEmpty)
    #expect(
      registry.samples(110, after: start).contains("http_client_oldest_active_request_seconds\(labels) 0"))
  }

  @Test func `an inbound request waits for its handler, then for its caller`() throws {
    let start = Instant.now
    let request = recorder.inbound.begin(method: "GET", path: "/users/42", fields: ["tenant": "acme"])
    var known = try #require(recorder.activeRequests().first)
    #expect(known.wait == .handler)
    #expect(known.request.fields == ["tenant": "acme"])
    request.responseBegan(statusCode: 201)
    known = try #require(recorder.activeRequests().first)
    #expect(known.wait == .client)
    #expect(known.statusCode == 201)
    let samples = registry.samples(5, after: start)
    #expect(
      samples.contains { $0.hasPrefix("http_server_oldest_active_request_seconds{") && !$0.hasSuffix(" 0") }
    )
    request.end(statusCode: 201)
    request.responseBegan(statusCode: 500)
    #expect(recorder.activeRequests().isEmpty)
  }

  @Test func `a request that the app makes by itself waits for the response, then for the rest of it`() {
    let request = recorder.outbound.begin(client: "c", method: "GET", url: "http://host/")
    #expect(recorder.activeRequests().map(\.wait) == [.response])
    request.responseBegan(statusCode: 206)
    let known = recorder.activeRequests()
    #expect(known.map(\.wait) == [.body] && known.map(\.statusCode) == [206])
    request.end(statusCode: 206)
  }

  @Test func `a request that has not started tells since when it waits`() throws {
    let record = makeRecord()
    recorder.drain()
    let since = Instant(nanoseconds: Instant.now.nanoseconds - 90_000_000_000)
    recorder.metrics(of: .outbound).list(record, at: since)
    let before = Timestamp.now
    let known = try #require(recorder.activeRequests(olderThan: .seconds(90)).first)
    let asked = Timestamp(
      nanosecondsSinceEpoch: known.start.nanosecondsSinceEpoch + known.duration.nanoseconds)
    #expect(asked >= before && asked <= Timestamp.now)
    #expect(known.duration >= .seconds(90))
    #expect(try #require(registry.value(of: "session_tap_oldest_unstarted_request_seconds")) >= 90)
    withExtendedLifetime(record) {}
  }

  @Test func `a request that has not started is one of a held queue, until it starts or is released`() throws
  {
    var record: RequestRecord? = makeRecord()
    let known = try #require(recorder.activeRequests().first)
    #expect(known.wait == .start)
    #expect(registry.value(ofSeries: "session_tap_unstarted_requests") == 1)
    #expect(try #require(registry.value(ofSeries: "session_tap_oldest_unstarted_request_seconds")) >= 0)
    #expect(!registry.text.contains("http_client_active_requests{"))
    record?.begin()
    #expect(recorder.activeRequests().map(\.wait) == [nil])
    #expect(registry.value(ofSeries: "session_tap_unstarted_requests") == 0)
    record?.end(.cancelled)
    record = makeRecord()
    #expect(recorder.activeRequests().count == 1)
    record = nil
    #expect(recorder.activeRequests().isEmpty)
    #expect(registry.value(ofSeries: "session_tap_unstarted_requests") == 0)
    #expect(recorder.requestCount == 0)
  }

  /// An app may keep a task that it has cancelled for as long as it likes.
  @Test func `a request that is cancelled before its start waits for none, and may begin all the same`() {
    let record = makeRecord()
    #expect(recorder.activeRequests().map(\.wait) == [.start])
    record.end(.cancelled)
    #expect(recorder.activeRequests().isEmpty)
    #expect(registry.value(ofSeries: "session_tap_unstarted_requests") == 0)
    // Nor is one listed that was cancelled before it was seen.
    let other = makeRecord()
    other.end(.cancelled)
    #expect(recorder.activeRequests().isEmpty)
    #expect(registry.value(ofSeries: "session_tap_unstarted_requests") == 0)
    #expect(registry.value(ofSeries: "session_tap_ended_requests_total{client=\"c\"}") == nil)
    withExtendedLifetime(other) {}
    record.begin()
    #expect(recorder.activeRequests().map(\.wait) == [nil])
    record.end(.response(statusCode: 200))
    #expect(recorder.activeRequests().isEmpty)
    #expect(registry.value(ofSeries: "session_tap_ended_requests_total{client=\"c\"}") == 1)
  }

  @Test func `each question is about all requests until then`() {
    let made = recorder.outbound.begin(client: "c", method: "GET", url: "http://host/")
    #expect(recorder.oldestActiveRequests(limit: 9).oldest.count == 1)
    let served = recorder.inbound.begin(method: "GET", path: "/")
    let overdue = recorder.waitingRequests(atMost: 1, at: .now.advanced(by: .seconds(3_600)))
    #expect((overdue.count, overdue.oldest.count) == (2, 1))
    withExtendedLifetime((made, served)) {}
  }

  @Test func `what a source knows is shown, and the source is not kept`() throws {
    let now = Instant.now
    var progress = RequestProgress(wait: .redirect, statusCode: 302, lastActivity: now)
    (progress.requestBodySize, progress.responseBodySize) = (7, 11)
    weak var released: Source?
    do {
      let source = Source(progress)
      released = source
      let record = makeRecord(source)
      record.begin(at: now)
      let known = try #require(recorder.activeRequests().first)
      #expect((known.wait, known.statusCode) == (.redirect, 302))
      #expect((known.requestBodySize, known.responseBodySize) == (7, 11))
      #expect(try #require(known.idleTime) >= .zero)
      #expect(known.description.hasPrefix("GET http://host/ waits for redirect, "))
      record.end(.cancelled)
    }
    recorder.drain()
    #expect(released == nil)
  }

  @Test func `a request that cannot be looked at is listed, and the limit counts the others`() {
    let sources = (0..<3).map { Source(RequestProgress(wait: .body), isHeld: $0 == 0) }
    let records = sources.map { makeRecord($0) }
    for record in records { record.begin() }
    #expect(recorder.activeRequests().map(\.wait) == [nil, .body, .body])
    for (limit, more) in [(0, 3), (2, 1), (3, 0), (.max, 0), (-1, 3)] {
      let listed = recorder.oldestActiveRequests(limit: limit)
      #expect(listed.more == more)
      #expect(listed.oldest.count == 3 - more)
    }
  }

  @Test func `a request is looked at before it is reported as waiting or unfinished`() async throws {
    let observer = RecordingObserver()
    let configuration = with(RequestConfiguration()) { $0.waitingLimit = .milliseconds(400) }
    let recorder = try RequestRecorder(registry: Registry(), outbound: configuration, consumers: [observer])
    func begin(_ source: Source) -> RequestRecord {
      let record = RequestRecord(RequestDescription(method: "GET"), recorder: recorder, progress: source)
      record.begin()
      return record
    }
    let waiting = begin(Source(RequestProgress(wait: .redirect)))
    // A machine that is busy may miss the time before one report.
    try await Poll.until("a wait that is known") { observer.waits.contains { $0.wait == .redirect } }
    let source = Source(RequestProgress(wait: .redirect))
    let second = begin(source)
    // The second report has nothing to say, and takes no time for it.
    for _ in 0..<2 { recorder.reportUnfinished() }
    #expect(observer.unfinished.map(\.wait) == [.redirect, .redirect] && source.lookCount == 1)
    withExtendedLifetime((waiting, second)) {}
  }

  @Test func `what waits and what is unfinished is told to the consumers, and nothing twice`() async throws {
    let observer = RecordingObserver()
    let configuration = with(RequestConfiguration()) {
      ($0.waitingLimit, $0.waitingExemptions) = (.milliseconds(1), ["events", "/stream"])
    }
    let recorder = try RequestRecorder(
      registry: Registry(), outbound: configuration, inbound: configuration, consumers: [observer])
    let exempt = [
      recorder.outbound.begin(client: "events", method: "GET", url: "http://host/"),
      recorder.outbound.begin(client: "c", method: "GET", url: "http://host/", urlTemplate: "/stream"),
    ]
    let waiting = recorder.inbound.begin(method: "GET", path: "/slow")
    try await observer.waitForWaits(3)
    #expect(observer.waits.allSatisfy { $0.request.url == "/slow" && $0.wait == .handler })
    #expect(zip(observer.waits, observer.waits.dropFirst()).allSatisfy { $0.duration < $1.duration })
    for _ in 0..<2 { recorder.reportUnfinished() }
    #expect(Set(observer.unfinished.map(\.request.url)) == ["http://host/", "/slow"])
    #expect(observer.unfinished.count == 3)
    withExtendedLifetime((exempt, waiting)) {}
  }

  @Test func `a queue that does not run is a metric at once, and reported at the limit, until it runs`()
    async throws
  {
    let observer = RecordingObserver()
    let configuration = with(RequestConfiguration()) { $0.waitingLimit = .milliseconds(50) }
    let registry = Registry()
    let recorder = try RequestRecorder(registry: registry, outbound: configuration, consumers: [observer])
    let answers = Mutex<[@Sendable () -> Void]>([])
    recorder.watch(QueueProbe { answer in answers.withLock { $0.append(answer) } })
    let taken = RequestRecord(RequestDescription(method: "GET"), recorder: recorder)
    try await Poll.until("two reports") { observer.heldQueues.count > 1 }
    #expect(observer.heldQueues.allSatisfy { $0.unstarted == 1 && $0.duration >= .milliseconds(50) })
    #expect(observer.heldQueues[1].duration >= observer.heldQueues[0].duration * 2)
    let held = try #require(registry.value(ofSeries: "session_tap_queue_held_seconds"))
    #expect(held >= observer.heldQueues[1].duration.seconds)
    // One question is open, however many ask.
    let answer = try #require(answers.withLock { $0.count == 1 ? $0[0] : nil })
    answer()
    #expect(registry.value(ofSeries: "session_tap_queue_held_seconds") == 0)
    withExtendedLifetime(taken) {}
  }

  @Test(arguments: [(50, 50), (30_000, 5_000)])
  func `a held queue is reported at the limit of requests, after five seconds at the latest`(
    limit: Int, report: Int
  ) throws {
    let configuration = with(RequestConfiguration()) { $0.waitingLimit = .milliseconds(limit) }
    let metrics = try RequestMetrics(.outbound, configuration)
    let reporter = WaitReporter([metrics], [])
    reporter.watch(QueueProbe { _ in })
    let now = Instant.now
    #expect(reporter.reportWaits(isUsed: true, at: now) == now.advanced(by: .milliseconds(report)))
  }

  @Test func `a request says in a test's failure what it waits for, and for how long`() {
    let request = RequestDescription(client: "c", method: "GET", url: "http://a/", serverAddress: "a")
    let waiting = RequestSnapshot(request, for: .milliseconds(3_249))
    #expect("\(waiting)" == "GET http://a/ waits for response, 3.2 s")
  }

  @Test func `of more than 1,000 unfinished requests the others are counted`() throws {
    let observer = RecordingObserver()
    let registry = Registry()
    let recorder = try RequestRecorder(registry: registry, consumers: [observer])
    let requests = (0..<1_003).map { recorder.inbound.begin(method: "GET", path: "/\($0)") }
    recorder.reportUnfinished()
    let urls: [String] = (0..<1_000).map { "/\($0)" }
    #expect(observer.unfinished.map(\.request.url) == urls)
    #expect(observer.moreUnfinished == 3)
    #expect(registry.value(ofSeries: "session_tap_unfinished_requests") == 1_003)
    withExtendedLifetime(requests) {}
  }
}

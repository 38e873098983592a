import TestSupport

@testable import TapCore

/// What the recorder says of requests that have not ended.
struct ActiveRequestsTests {
  private let registry = Registry()
  private let recorder: RequestRecorder

  init() throws { recorder = try RequestRecorder(registry: registry) }

  private final class Source: RequestProgressSource {
    var progress: RequestProgress {
      with(RequestProgress(wait: .redirect, statusCode: 302, lastActivity: .never)) {
        ($0.requestBodySize, $0.responseBodySize) = (7, 11)
      }
    }

    func look(then done: @escaping @Sendable () -> Void) { done() }
  }

  private func makeRecord(_ source: Source? = nil) -> RequestRecord {
    RequestRecord(
      RequestDescription(client: "c", method: "GET", url: "http://host/", serverAddress: "host"),
      recorder: recorder, progress: source)
  }

  private static let labels = #"{client="c",http_request_method="GET",server_address="host"}"#

  @Test func `a request is active until its end`() throws {
    let start = Instant.now
    let time = Timestamp(nanosecondsSinceEpoch: 1_700_000_000_000_000_000)
    let record = makeRecord()
    record.begin(at: start, time: time)
    let known = try #require(recorder.activeRequests().first)
    #expect(known.start == time && known.wait == nil && known.idleTime == nil)
    #expect(recorder.activeRequests(olderThan: .seconds(3_600)).isEmpty)
    // Younger ones change nothing.
    let others = (0..<40).map { _ in makeRecord() }
    for other in others { other.begin() }
    #expect(recorder.activeRequests().count == 41)
    let samples = registry.samples(90, after: start)
    #expect(samples.contains("http_client_oldest_active_request_seconds\(Self.labels) 90"))
    #expect(samples.contains("http_client_active_requests\(Self.labels) 41"))
    for record in [record] + others { record.end(.cancelled) }
    #expect(recorder.activeRequests().isEmpty)
    let later = registry.samples(110, after: start)
    #expect(later.contains("http_client_oldest_active_request_seconds\(Self.labels) 0"))
  }

  @Test(arguments: RequestDirection.allCases)
  func `a request that is no URLSession's waits for its head, then for the rest`(direction: RequestDirection)
    throws
  {
    let start = Instant.now
    let fields: [String: FieldValue] = ["tenant": "acme"]
    let request =
      direction == .inbound
      ? recorder.inbound.begin(method: "GET", path: "/users/42", fields: fields)
      : recorder.outbound.begin(client: "c", method: "GET", url: "http://host/", fields: fields)
    let known = try #require(recorder.activeRequests().first)
    #expect(known.wait == (direction == .inbound ? .handler : .response) && known.request.fields == fields)
    request.responseBegan(statusCode: 206)
    let later = try #require(recorder.activeRequests().first)
    #expect(later.wait == (direction == .inbound ? .client : .body) && later.statusCode == 206)
    let side = direction == .inbound ? "server" : "client"
    let name = "http_\(side)_oldest_active_request_seconds{"
    #expect(registry.samples(5, after: start).contains { $0.hasPrefix(name) && !$0.hasSuffix(" 0") })
    request.end(statusCode: 206)
    request.responseBegan(statusCode: 500)
    #expect(recorder.activeRequests().isEmpty)
  }

  @Test func `an unstarted request tells since when it waits`() throws {
    let record = makeRecord()
    recorder.drain()
    let since = Instant(nanoseconds: Instant.now.nanoseconds - 90_000_000_000)
    recorder.metrics(of: .outbound).withLock { $0.active.add(record, at: since) }
    let before = Timestamp.now
    let known = try #require(recorder.activeRequests(olderThan: .seconds(90)).first)
    let asked = Timestamp(
      nanosecondsSinceEpoch: known.start.nanosecondsSinceEpoch + known.duration.nanoseconds)
    #expect(asked >= before && asked <= Timestamp.now && known.duration >= .seconds(90))
    #expect(try #require(registry.value(of: "session_tap_oldest_unstarted_request_seconds")) >= 90)
    withExtendedLifetime(record) {}
  }

  @Test func `each question is about all requests until then`() {
    let made = recorder.outbound.begin(client: "c", method: "GET", url: "http://host/")
    #expect(recorder.oldestActiveRequests(limit: 9).oldest.count == 1)
    let served = recorder.inbound.begin(method: "GET", path: "/")
    let waiting = recorder.waitingRequests(atMost: 1, at: .now.advanced(by: .seconds(3_600)))
    #expect((waiting.count, waiting.oldest.count) == (2, 1))
    withExtendedLifetime((made, served)) {}
  }

  @Test func `what a source knows is shown, and the source is not kept`() throws {
    weak var released: Source?
    do {
      let source = Source()
      released = source
      let record = makeRecord(source)
      record.begin()
      let known = try #require(recorder.activeRequests().first)
      #expect(known.wait == .redirect && known.idleTime == .zero && known.statusCode == 302)
      expectEqual([known.requestBodySize, known.responseBodySize], [7, 11])
      record.end(.cancelled)
    }
    recorder.drain()
    #expect(released == nil)
  }

  @Test func `what waits and what is unfinished is told to the consumers, and nothing twice`() async throws {
    let observer = RecordingObserver()
    let configuration = with(RequestConfiguration()) {
      ($0.waitingLimit, $0.waitingExemptions) = (.milliseconds(1), ["events", "/stream"])
    }
    let registry = Registry()
    let recorder = try RequestRecorder(
      registry: registry, outbound: configuration, inbound: configuration, consumers: [observer])
    let exempt = [
      recorder.outbound.begin(client: "events", method: "GET", url: "http://host/"),
      recorder.outbound.begin(client: "c", method: "GET", url: "http://host/", urlTemplate: "/stream"),
    ]
    let waiting = recorder.inbound.begin(method: "GET", path: "/slow")
    try await observer.waitForWaits(3)
    #expect(observer.waits.allSatisfy { $0.request.url == "/slow" && $0.wait == .handler })
    #expect(zip(observer.waits, observer.waits.dropFirst()).allSatisfy { $0.duration < $1.duration })
    for _ in 0..<2 { recorder.reportUnfinished() }
    #expect(observer.unfinished.map(\.request.url) == ["http://host/", "http://host/", "/slow"])
    #expect(registry.value(ofSeries: "session_tap_unfinished_requests") == 3)
    withExtendedLifetime((exempt, waiting)) {}
  }

  @Test func `a route exempts from when it is known`() throws {
    let configuration = with(RequestConfiguration()) { $0.waitingExemptions = ["/events/{id}"] }
    let recorder = try RequestRecorder(registry: Registry(), inbound: configuration)
    let early = recorder.inbound.begin(method: "GET", path: "/events/1", route: "/events/{id}")
    let (late, never) = (
      recorder.inbound.begin(method: "GET", path: "/events/2"),
      recorder.inbound.begin(method: "GET", path: "/events/3")
    )
    func waiting() -> [String] {
      recorder.waitingRequests(atMost: 9, at: .now.advanced(by: .seconds(60))).oldest.map(\.request.url)
    }
    let before = waiting()
    late.responseBegan(statusCode: 200, route: "/events/{id}")
    #expect([before, waiting()] == [["/events/2", "/events/3"], ["/events/3"]])
    withExtendedLifetime((early, never)) {}
  }

  @Test func `a queue that does not run is a metric at once, until it runs`() throws {
    let answers = Mutex<[@Sendable () -> Void]>([])
    recorder.watch(QueueProbe { answer in answers.withLock { $0.append(answer) } })
    func held() -> Double? { registry.value(ofSeries: "session_tap_queue_held_seconds") }
    let first = held()
    let second = try #require(held())
    #expect(try #require(first) >= 0 && second > 0 && second >= first ?? 1)
    // One question is open, however many ask.
    let open = answers.withLock { $0 }
    open.first?()
    #expect(open.count == 1 && held() == 0)
  }
}

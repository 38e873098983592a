import TestSupport

@testable import TapCore

/// What consumers get of a request, wherever in its life the recorder drains.
struct RequestRecordTests {
  enum Step: CaseIterable, Sendable { case start, startAgain, end, endAgain }

  private final class Transcript: RequestConsumer {
    private let all = Mutex<[String]>([])
    var text: [String] { all.withLock { $0 } }

    func requestStarted(_ request: RequestDescription) { all.withLock { $0.append("start \(request.url)") } }
    func requestEnded(_ observation: RequestObservation) {
      all.withLock { $0.append("\(observation.outcome) \(observation.request.url)") }
    }
  }

  /// Lives through the steps, with a drain before those that `drains` has a bit for, and is released.
  func delivered(of steps: some Sequence<Step>, drains: Int, observers count: Int = 1) throws -> [[String]] {
    let observers = (0..<count).map { _ in Transcript() }
    let recorder = try RequestRecorder(registry: Registry(), consumers: observers)
    let description = RequestDescription(client: "test", method: "GET", url: "http://localhost/")
    var request: RequestRecord? = RequestRecord(description, recorder: recorder)
    for (place, step) in steps.enumerated() {
      if drains >> place & 1 == 1 { recorder.drain() }
      switch step {
      case .start, .startAgain: request?.begin()
      case .end: request?.end(.response(statusCode: 200))
      case .endAgain: request?.end(.cancelled)
      }
    }
    request = nil
    recorder.drain()
    #expect(recorder.requestCount == 0)
    return observers.map(\.text)
  }

  @Test(arguments: 0..<16)
  func `a whole life whenever it is delivered`(drains: Int) throws {
    let delivered = try delivered(of: Step.allCases, drains: drains, observers: 2)
    let expected = ["start", "ok"].map { "\($0) http://localhost/" }
    #expect(delivered == [expected, expected])
  }

  @Test(arguments: 0..<4)
  func `a request that is let go was cancelled`(drains: Int) throws {
    let consumer = Transcript()
    let recorder = try RequestRecorder(registry: Registry(), consumers: [consumer])
    var request: ActiveRequest? = recorder.inbound.begin(method: "GET", path: "/")
    if drains & 1 == 1 { recorder.drain() }
    request?.add(["key": "value"])
    request = nil
    if drains & 2 == 2 { recorder.drain() }
    recorder.drain()
    #expect(consumer.text == ["start /", "cancelled /"])
    #expect(recorder.requestCount == 0)
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

  /// Lets its first request wait.
  private final class StuckConsumer: RequestConsumer {
    let (isStuck, mayGoOn) = (Gate(), Gate())
    let ended = Atomic(0)

    func requestStarted(_ request: RequestDescription) {
      isStuck.open()
      mayGoOn.waitBlocking()
    }
    func requestEnded(_ observation: RequestObservation) { ended.wrappingAdd(1, ordering: .relaxed) }
  }

  @Test(.needs(.thread))
  func `a request delivers none, unless the thread that does is behind by the limit`() async throws {
    // What the documentation says.
    try #require((RequestRecorder.many, RequestRecorder.limit) == (1_024, 16_384))
    let consumer = StuckConsumer()
    let recorder = try RequestRecorder(registry: Registry(), consumers: [consumer])
    recorder.inbound.begin(method: "GET", path: "/").end(statusCode: 200)
    try await consumer.isStuck.wait("the worker")
    // On this thread: if it waited for the worker, or delivered, the worker would never go on.
    for _ in 0..<RequestRecorder.limit {
      recorder.inbound.begin(method: "GET", path: "/").end(statusCode: 200)
    }
    #expect(consumer.ended.load(ordering: .relaxed) == 0)
    consumer.mayGoOn.open()
    // Memory is bounded, and nothing is lost.
    let count = 4 * RequestRecorder.limit
    var most = 0
    for _ in 0..<count {
      recorder.inbound.begin(method: "GET", path: "/").end(statusCode: 200)
      most = max(most, recorder.requestCount)
    }
    #expect(most <= 2 * RequestRecorder.limit + 2)
    recorder.drain()
    #expect(consumer.ended.load(ordering: .relaxed) == count + RequestRecorder.limit + 1)
  }

  /// Its first request makes more than the queue takes.
  private final class BusyConsumer: RequestConsumer {
    let recorder = Mutex<RequestRecorder?>(nil)
    let ended = Atomic(0)

    func requestStarted(_ request: RequestDescription) {
      guard let recorder = recorder.withLock({ exchange(&$0, with: nil) }) else { return }
      for _ in 0..<RequestRecorder.limit + 10 {
        recorder.inbound.begin(method: "GET", path: "/").end(statusCode: 200)
      }
    }
    func requestEnded(_ observation: RequestObservation) { ended.wrappingAdd(1, ordering: .relaxed) }
  }

  @Test func `a delivery that makes requests loses none, however many`() throws {
    let consumer = BusyConsumer()
    let recorder = try RequestRecorder(registry: Registry(), consumers: [consumer])
    consumer.recorder.withLock { $0 = recorder }
    recorder.inbound.begin(method: "GET", path: "/").end(statusCode: 200)
    // What the first delivers comes with the second.
    for _ in 0..<2 { recorder.drain() }
    #expect(consumer.ended.load(ordering: .relaxed) == RequestRecorder.limit + 11)
    #expect(recorder.requestCount == 0)
  }

  /// Keeps the paths of the requests that have ended.
  private final class Paths: RequestConsumer {
    private let all = Mutex<Set<String>>([])

    func has(_ path: String) -> Bool { all.withLock { $0.contains(path) } }
    func requestEnded(_ observation: RequestObservation) {
      all.withLock { _ = $0.insert(observation.request.url) }
    }
  }

  @Test func `a drain returns once all that happened before is delivered, on whichever thread`() throws {
    let paths = Paths()
    let recorder = try RequestRecorder(registry: Registry(), consumers: [paths])
    let missing = Atomic(0)
    DispatchQueue.concurrentPerform(iterations: 4) { thread in
      for round in 0..<500 {
        let path = "/\(thread)/\(round)"
        recorder.inbound.begin(method: "GET", path: path).end(statusCode: 200)
        recorder.drain()
        if !paths.has(path) { missing.add(1, ordering: .relaxed) }
      }
    }
    #expect(missing.load(ordering: .relaxed) == 0)
  }

  @Test(.needs(.thread)) func `each observer of the app's is told of each request, in order`() throws {
    let observers = [Transcript(), Transcript()]
    let registry = Registry()
    let recorder = try RequestRecorder(registry: registry, observers: observers)
    for number in 1...2 { recorder.inbound.begin(method: "GET", path: "/\(number)").end(statusCode: 200) }
    recorder.drain()
    #expect(recorder.flushObservers(until: .now.advanced(by: .seconds(60))))
    for observer in observers { #expect(observer.text == ["start /1", "ok /1", "start /2", "ok /2"]) }
    let name = "session_tap_observer_dropped_total"
    let help = "Calls of the app's own observers and tracer that were dropped, because too many waited."
    let lines = registry.lines.filter { $0.contains(name) }
    #expect(lines == ["# HELP \(name) \(help)", "# TYPE \(name) counter", "\(name) 0"])
  }

  @Test(arguments: 0..<4)
  func `nothing of a request that never begins`(drains: Int) throws {
    #expect(try delivered(of: [.end, .endAgain], drains: drains) == [[]])
  }

  @Test func `without consumers it goes`() throws {
    #expect(try delivered(of: Step.allCases, drains: 0b1010, observers: 0).isEmpty)
  }
}

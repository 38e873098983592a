import SessionTap
import TestSupport

/// Observers of the app's own, and destinations of the log, that take their time: neither a request nor a scrape
/// waits for them.
@Suite(.needs(.thread)) struct SlowObserverTests {
  /// Does something at each end of a request, of both directions, and counts.
  private final class Observer: RequestObserver {
    struct Heard {
      var started = 0
      var ended = 0
      var inbound = 0
    }

    let heard = Mutex(Heard())
    private let work: @Sendable () -> Void

    init(_ work: @escaping @Sendable () -> Void) { self.work = work }

    func requestStarted(_ request: RequestDescription) { heard.withLock { $0.started += 1 } }

    func requestEnded(_ observation: RequestObservation) {
      work()
      heard.withLock { heard in
        if observation.request.direction == .inbound { heard.inbound += 1 } else { heard.ended += 1 }
      }
    }
  }

  private static func tap(_ observer: Observer, in registry: Registry = Registry()) throws -> Tap {
    var configuration = Tap.Configuration()
    configuration.endpoint = nil
    configuration.observers = [observer]
    // Until then a slow observer's calls are made.
    configuration.shutdownDeadline = .seconds(100)
    return try Tap(configuration, registry: registry)
  }

  private static func serve(_ count: Int, by tap: Tap) {
    for _ in 0..<count { tap.inbound.begin(method: "GET", path: "/").end(statusCode: 200, route: "/") }
  }

  /// The value of a series without labels, or of the one that begins so.
  private static func value(_ series: String, in registry: Registry) -> Int? {
    let text = String(decoding: registry.exposition().body, as: UTF8.self)
    let line = text.split(separator: "\n").first { $0.hasPrefix(series) }
    return line?.split(separator: " ").last.flatMap { Double($0) }.map { Int($0) }
  }

  @Test func `an observer may scrape, in both directions`() async throws {
    let origin = try Origin { _ in [.response()] }
    let registry = Registry()
    let observer = Observer { _ = registry.exposition() }
    let tap = try Self.tap(observer, in: registry)
    let session = URLSession(configuration: tap.sessionConfiguration(from: .ephemeral, client: "test"))
    try await withThrowingTaskGroup { group in
      for _ in 0..<20 {
        group.addTask { _ = try await session.data(from: origin.url()) }
        group.addTask { Self.serve(1, by: tap) }
        group.addTask { _ = registry.exposition() }
      }
      try await group.waitForAll()
    }
    await tap.shutdown()
    let heard = observer.heard.withLock { $0 }
    #expect((heard.started, heard.ended, heard.inbound) == (40, 20, 20))
    #expect(Self.value("http_server_request_duration_seconds_count", in: registry) == 20)
    #expect(Self.value("session_tap_ended_requests_total{", in: registry) == 20)
    #expect(Self.value("session_tap_observer_dropped_total", in: registry) == 0)
  }

  @Test func `a scrape does not wait for an observer that is stuck`() async throws {
    let (isStuck, mayGoOn) = (Gate(), Gate())
    let observer = Observer {
      isStuck.open()
      mayGoOn.waitBlocking()
    }
    let tap = try Self.tap(observer)
    Self.serve(1, by: tap)
    try await isStuck.wait("the observer")
    Self.serve(99, by: tap)
    // On this thread: if it waited, the observer would never go on.
    #expect(Self.value("http_server_request_duration_seconds_count", in: tap.registry) == 100)
    #expect(Self.value("session_tap_observer_dropped_total", in: tap.registry) == 0)
    #expect(observer.heard.withLock { $0.inbound } == 0)
    mayGoOn.open()
    await tap.shutdown()
    #expect(observer.heard.withLock { $0.inbound } == 100)
  }

  @Test func `what an observer has no time for is left out and counted, and requests do not wait`()
    async throws
  {
    let (isStuck, mayGoOn) = (Gate(), Gate())
    let observer = Observer {
      isStuck.open()
      mayGoOn.waitBlocking()
    }
    let tap = try Self.tap(observer)
    Self.serve(1, by: tap)
    try await isStuck.wait("the observer")
    let made = 20_000
    await withDiscardingTaskGroup { group in
      for _ in 0..<8 { group.addTask { Self.serve(made / 8, by: tap) } }
    }
    #expect(Self.value("http_server_request_duration_seconds_count", in: tap.registry) == made + 1)
    let dropped = try #require(Self.value("session_tap_observer_dropped_total", in: tap.registry))
    // Each has a start and an end.
    #expect(dropped == 2 * made - 4_096)
    mayGoOn.open()
    await tap.shutdown()
    #expect(observer.heard.withLock { $0.started + $0.inbound } + dropped == 2 * (made + 1))
  }

  @Test func `an observer that never returns does not keep a shutdown beyond its deadline`() async throws {
    let (isStuck, never) = (Gate(), Gate())
    defer { never.open() }
    var configuration = Tap.Configuration()
    configuration.endpoint = nil
    configuration.shutdownDeadline = .milliseconds(50)
    configuration.observers = [
      Observer {
        isStuck.open()
        never.waitBlocking()
      }
    ]
    let tap = try Tap(configuration)
    Self.serve(1, by: tap)
    try await isStuck.wait("the observer")
    await tap.shutdown()
    #expect(!never.isOpen)
  }

  @Test func `an observer may shut its tap down, and what it logs until then is written`() async throws {
    let folder = try TemporaryFolder()
    let path = folder("requests.jsonl")
    let tap = Mutex<Tap?>(nil)
    let isDown = Gate()
    let observer = Observer {
      let running = tap.withLock { $0 }
      running?.log(.info, "from the observer")
      Task {
        await running?.shutdown()
        isDown.open()
      }
    }
    var configuration = Tap.Configuration()
    configuration.endpoint = nil
    configuration.log = .file(path)
    configuration.observers = [observer]
    let made = try Tap(configuration)
    tap.withLock { $0 = made }
    Self.serve(1, by: made)
    try await isDown.wait("the shutdown")
    #expect(try String(contentsOfFile: path, encoding: .utf8).contains("from the observer"))
  }

  // MARK: The log

  private final class StuckSink: LogSink {
    let (isStuck, mayGoOn) = (Gate(), Gate())

    func write(_ lines: UnsafeRawBufferPointer) {
      isStuck.open()
      mayGoOn.waitBlocking()
    }
  }

  @Test func `an observer does not wait for a sink that is stuck`() async throws {
    let (sink, hasHeard) = (StuckSink(), Gate())
    let ends = Atomic(0)
    var configuration = Tap.Configuration()
    configuration.endpoint = nil
    configuration.log = .custom(sink)
    configuration.observers = [
      Observer { if ends.wrappingAdd(1, ordering: .relaxed).newValue == 2 { hasHeard.open() } }
    ]
    let tap = try Tap(configuration)
    Self.serve(1, by: tap)
    try await sink.isStuck.wait("the sink")
    // Nobody scrapes: the tap's own thread delivers.
    Self.serve(1, by: tap)
    try await hasHeard.wait("the observer")
    sink.mayGoOn.open()
    await tap.shutdown()
    #expect(tap.requestLog?.statistics.lines == 2)
  }

  @Test func `a scrape does not wait for a disk that is stuck, and lines that do not fit are counted`()
    async throws
  {
    let sink = StuckSink()
    var configuration = Tap.Configuration()
    configuration.endpoint = nil
    configuration.log = .custom(sink)
    configuration.logging.queueLineLimit = 100
    let tap = try Tap(configuration)
    Self.serve(1, by: tap)
    _ = tap.registry.exposition()
    try await sink.isStuck.wait("the sink")
    Self.serve(999, by: tap)
    #expect(Self.value("http_server_request_duration_seconds_count", in: tap.registry) == 1_000)
    let dropped = Self.value(#"session_tap_log_dropped_lines_total{reason="queue_full"}"#, in: tap.registry)
    #expect(dropped == 899)
    sink.mayGoOn.open()
    await tap.shutdown()
  }

  @Test func `a scrape does not wait for a FIFO without a reader`() async throws {
    let folder = try TemporaryFolder()
    let path = folder("requests.fifo")
    try #require(mkfifo(path, 0o600) == 0)
    let reader = open(path, O_RDONLY | O_NONBLOCK)
    defer { close(reader) }
    var configuration = Tap.Configuration()
    configuration.endpoint = nil
    configuration.log = .file(path)
    configuration.logging.queueByteLimit = 32_768
    configuration.shutdownDeadline = .milliseconds(10)
    let tap = try Tap(configuration)
    let made = 2_000
    for _ in 0..<10 {
      Self.serve(made / 10, by: tap)
      _ = tap.registry.exposition()
    }
    #expect(Self.value("http_server_request_duration_seconds_count", in: tap.registry) == made)
    await tap.shutdown()
    let statistics = try #require(tap.requestLog).statistics
    // A warning reports those that were dropped.
    let lines = Int(statistics.lines(.info))
    let dropped = Int(statistics.droppedLines)
    #expect(lines + dropped == made)
    #expect(dropped > 0)
  }

  @Test func `a scrape does not wait for a disk that is full, and every line is counted`() async throws {
    var configuration = Tap.Configuration()
    configuration.endpoint = nil
    configuration.log = .file("/dev/full")
    configuration.logging.queueByteLimit = 32_768
    configuration.shutdownDeadline = .milliseconds(10)
    let tap = try Tap(configuration)
    let made = 2_000
    for round in 1...10 {
      Self.serve(made / 10, by: tap)
      let count = Self.value("http_server_request_duration_seconds_count", in: tap.registry)
      #expect(count == made / 10 * round)
    }
    await tap.shutdown()
    let statistics = try #require(tap.requestLog).statistics
    #expect(statistics.lines == 0)
    #expect(Int(statistics.droppedLines) == made)
  }
}

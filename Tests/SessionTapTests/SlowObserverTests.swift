import SessionTap
import TestSupport

/// Observers of the app's own that take their time: neither a request nor a scrape waits for them.
@Suite(.needs(.thread)) struct SlowObserverTests {
  /// What observers have heard.
  private let heard = Watched((started: 0, ended: 0, inbound: 0))

  /// Does something at each end of a request, of both directions, and counts.
  private func observer(_ work: @escaping @Sendable () -> Void = {}) -> CallingObserver {
    CallingObserver { [heard] _ in
      heard.change { $0.started += 1 }
    } ended: { [heard] observation in
      work()
      let isInbound = observation.request.direction == .inbound
      heard.change { if isInbound { $0.inbound += 1 } else { $0.ended += 1 } }
    }
  }

  /// Blocks what comes by until it may go on.
  private final class Hold: Sendable {
    let (isStuck, mayGoOn) = (Gate(), Gate())

    func wait() {
      isStuck.open()
      mayGoOn.waitBlocking()
    }
  }

  private static func tap(
    _ observer: CallingObserver, in registry: Registry = Registry(),
    _ change: (inout Tap.Configuration) -> Void = { _ in }
  ) throws -> Tap {
    let configuration = Tap.Configuration.test {
      // Until then a slow observer's calls are made.
      ($0.endpoint, $0.observers, $0.shutdownTimeout) = (nil, [observer], .seconds(100))
      change(&$0)
    }
    return try Tap(configuration, registry: registry)
  }

  private static func serve(_ count: Int, by tap: Tap) {
    for _ in 0..<count { tap.inbound.begin(method: "GET", path: "/").end(statusCode: 200, route: "/") }
  }

  private static func value(_ name: String, of tap: Tap) -> Int? {
    tap.registry.value(of: name).map { Int($0) }
  }

  private static let served = "http_server_request_duration_seconds_count"
  private static let dropped = "session_tap_observer_dropped_total"

  @Test func `an observer may scrape, in both directions`() async throws {
    let origin = try Origin { _ in [.response()] }
    let registry = Registry()
    let observer = observer { _ = registry.exposition() }
    let tap = try Self.tap(observer, in: registry)
    let session = tap.session(client: "test", configuration: .ephemeral)
    try await withThrowingTaskGroup { group in
      for _ in 0..<20 {
        group.addTask { _ = try await session.data(from: origin.url()) }
        group.addTask { Self.serve(1, by: tap) }
        group.addTask { _ = registry.exposition() }
      }
      try await group.waitForAll()
    }
    await tap.shutdown()
    #expect(heard.state == (40, 20, 20))
    let names = [Self.served, "session_tap_ended_requests_total", Self.dropped]
    #expect(names.map { Self.value($0, of: tap) } == [20, 20, 0])
  }

  @Test
  func `neither a scrape nor a request waits for an observer that is stuck, and what is left out is counted`()
    async throws
  {
    let hold = Hold()
    let tap = try Self.tap(observer { hold.wait() })
    Self.serve(1, by: tap)
    try await hold.isStuck.wait("the observer")
    Self.serve(99, by: tap)
    // On this thread: if it waited, the observer would never go on.
    #expect([Self.served, Self.dropped].map { Self.value($0, of: tap) } == [100, 0])
    let made = Extent.of(8_000, extensive: 20_000)
    await withDiscardingTaskGroup { for _ in 0..<8 { $0.addTask { Self.serve(made / 8, by: tap) } } }
    // Each has a start and an end.
    let dropped = 2 * (made + 99) - 4_096
    #expect([Self.served, Self.dropped].map { Self.value($0, of: tap) } == [made + 100, dropped])
    #expect(await !tap.flush(within: .zero) && heard.state.inbound == 0)
    hold.mayGoOn.open()
    #expect(await tap.flush(within: .seconds(100)))
    #expect(heard.state.started + heard.state.inbound + dropped == 2 * (made + 100))
    await tap.shutdown()
  }

  @Test func `an observer that never returns does not keep a shutdown beyond its deadline`() async throws {
    let hold = Hold()
    defer { hold.mayGoOn.open() }
    let tap = try Self.tap(observer { hold.wait() }) { $0.shutdownTimeout = .milliseconds(50) }
    Self.serve(1, by: tap)
    try await hold.isStuck.wait("the observer")
    await tap.shutdown()
    #expect(!hold.mayGoOn.isOpen)
  }

  @Test func `an observer may shut its tap down, and what it logs until then is written`() async throws {
    let folder = try TemporaryFolder()
    let tap = Mutex<Tap?>(nil)
    let isDown = Gate()
    let observer = observer {
      let running = tap.withLock { $0 }
      running?.log(.info, "from the observer")
      Task {
        await running?.shutdown()
        isDown.open()
      }
    }
    // Twice this is less than the test waits: for the observers, and for the log.
    let made = try Self.tap(observer) {
      ($0.log, $0.shutdownTimeout) = (.file(folder("requests.jsonl")), .seconds(30))
    }
    tap.withLock { $0 = made }
    Self.serve(1, by: made)
    try await isDown.wait("the shutdown")
    #expect(try folder.text("requests.jsonl").contains("from the observer"))
  }
}

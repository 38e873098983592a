import TestSupport

@testable import SessionTap

/// How a push ends that no answer ends.
@Suite struct PushEndTests {
  /// The seventh pause is 15 s at least, however short the others have been.
  @Test func `makes no pause beyond its end`() async throws {
    let origin = try Origin { _ in [.response("503 X")] }
    let pusher = try PushTests.pusher(Registry(), origin.port) { _ in
      if origin.requests.count == 8 { throw CancellationError() }
    }
    #expect(await PushTests.error(of: pusher, within: .seconds(14))?.code == .push)
    #expect(origin.requests.count < 8)
  }

  @Test func `ends a try that takes too long`() async throws {
    let end = Gate()
    let origin = try Origin { _ in [.hold(end)] }
    defer { end.open() }
    let gateway = try PushGateway("http://127.0.0.1:\(origin.port)", job: "test")
    let pusher = try MetricsPusher(registry: Registry(), to: gateway, tryLimit: .milliseconds(50)) { _ in
      throw CancellationError()
    }
    let error = await PushTests.error(of: pusher)
    #expect(error?.description == "127.0.0.1:\(origin.port) does not answer in time")
  }

  @Test func `ends with its task`() async throws {
    let (asked, end) = (Gate(), Gate())
    let origin = try Origin { _ in [.signal(asked), .hold(end)] }
    defer { end.open() }
    let registry = Registry()
    let gateway = try PushGateway("http://127.0.0.1:\(origin.port)", job: "test")
    let pusher = try MetricsPusher(registry: registry, to: gateway, tryLimit: .seconds(240))
    let push = Task { await PushTests.error(of: pusher) }
    try await asked.wait("the request")
    push.cancel()
    let error = await push.value
    #expect(error?.description == "cannot push to 127.0.0.1:\(origin.port): the task was cancelled")
    #expect(registry.value(ofSeries: "session_tap_pushes_total{outcome=\"error\"}") == 1)
    #expect(origin.requests.count == 1)
  }

  /// A deadline or a cancel that comes behind the answer does not undo it.
  @Test func `the first outcome counts`() async {
    let outcome = Promise<Int>()
    for number in 1...2 { outcome.fulfill(number) }
    #expect(await outcome.value == 1)
    #expect(outcome.wait(until: .now) == 1)
  }

  @Test func `a thread that waits for an outcome has it at once`() async throws {
    for number in 0..<20 {
      let outcome = Promise<Int>()
      let (begun, ended) = (Gate(), Gate())
      Thread.detachNewThread {
        begun.open()
        if outcome.wait(until: .now.advanced(by: .seconds(3_600))) == number { ended.open() }
      }
      try await begun.wait("the thread")
      outcome.fulfill(number)
      try await ended.wait("the outcome")
    }
  }

  /// None of these ever ends, so a push that waits for its end does not either.
  @Test(arguments: Endless.allCases)
  func `ends at its deadline whatever the gateway sends`(endless: Endless) async throws {
    let end = Gate()
    let origin = try Origin { _ in endless.steps(end) }
    defer { end.open() }
    let gateway = try PushGateway("http://127.0.0.1:\(origin.port)", job: "test")
    let pusher = try MetricsPusher(registry: Registry(), to: gateway, tryLimit: .seconds(240))
    let error = await PushTests.error(of: pusher, within: .milliseconds(300))
    #expect(error?.code == .push)
    // Of 300 KiB of heads libcurl makes an error, which a fast machine reaches before the deadline.
    if endless != .interimFlood || error?.description.contains("Too large response headers") == false {
      #expect(error?.description == "127.0.0.1:\(origin.port) does not answer in time")
    }
    end.open()
    // It is not read any further. A head that is cut short would end the process (swift-corelibs-foundation
    // #5285).
    try await Poll.until("the end of the connection") { origin.connectionCount == 0 }
  }

  enum Endless: CaseIterable {
    case silence, interimResponses, interimFlood, drippingHead, drippingBody

    func steps(_ end: Gate) -> [OriginStep] {
      func drip(_ text: String) -> [OriginStep] { (0..<100_000).flatMap { _ in [.think(20), .text(text)] } }
      switch self {
      case .silence: return [.hold(end)]
      case .interimResponses: return drip("HTTP/1.1 100 Continue\r\n\r\n")
      case .interimFlood:
        let flood = Array(String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 1_000).utf8)
        return [OriginStep](repeating: .send(flood), count: 1_000_000)
      case .drippingHead: return [.text("HTTP/1.1 200 OK\r\nX: ")] + drip("x")
      case .drippingBody: return [.text("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")] + drip("x")
      }
    }
  }

  /// Something else may hold the one queue of all sessions, for which other tests wait meanwhile, with all of
  /// Swift's threads.
  @Test(.needs(.sessionQueue)) func `ends at its deadline while Foundation stands still`() async throws {
    let origin = try Origin { _ in [.response()] }
    let (held, release) = (Gate(), Gate())
    let configuration = URLSessionConfiguration.ephemeral
    configuration.protocolClasses = [QueueHold.self]
    let session = URLSession(configuration: configuration)
    let hold = QueueHold.url {
      held.open()
      release.waitBlocking()
    }
    session.dataTask(with: hold).resume()
    try await held.wait("the queue")
    let gateway = try PushGateway("http://127.0.0.1:\(origin.port)", job: "test")
    let error = await PushTests.error(
      of: try MetricsPusher(registry: Registry(), to: gateway), within: .milliseconds(300))
    #expect(error?.description == "127.0.0.1:\(origin.port) does not answer in time")
    release.open()
    session.finishTasksAndInvalidate()
  }
}

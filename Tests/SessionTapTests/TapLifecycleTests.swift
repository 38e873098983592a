import TestSupport

@testable import SessionTap

@Suite struct TapLifecycleTests {
  @Test func `a tap that was shut down neither starts nor runs`() async throws {
    let tap = try Tap(.test())
    await tap.shutdown()
    #expect(throws: TapError.self) { try tap.start() }
    let error = await #expect(throws: TapError.self) { try await tap.run() }
    #expect(error?.code == .shutDown)
    #expect(error?.description == "the tap was shut down; make another one")
    #expect(tap.address == nil)
  }

  @Test func `a tap starts once, and serves on`() async throws {
    let tap = try Tap.start(.test())
    let error = #expect(throws: TapError.self) { try tap.start() }
    #expect(error?.code == .startedBefore)
    #expect(error?.description == "the tap was started before; make another one")
    #expect(try await tap.get("/healthz").hasPrefix("HTTP/1.1 200 "))
    await tap.shutdown()
  }

  @Test(arguments: [(true, true), (false, true), (false, false)])
  func `a service runs until its task is cancelled or the tap is shut down`(
    isStarted: Bool, isCancelled: Bool
  ) async throws {
    let tap = try Tap(.test())
    if isStarted { try tap.start() }
    let run = Task { try await tap.run() }
    try await Poll.until("the address") { tap.address != nil }
    if isCancelled { run.cancel() } else { await tap.shutdown() }
    try await run.value
    #expect(tap.address == nil)
    #expect(throws: TapError.self) { try tap.start() }
  }

  @Test func `a tap that never started is released without a word`() throws {
    let log = try #require(Tap(.test(log: .memory) { $0.servesLog = true }).requestLog)
    #expect(log.flush())
    #expect(log.recent().isEmpty)
  }

  @Test func `every shutdown returns when the tap is shut down`() async throws {
    let tap = try Tap.start(.test())
    await withTaskGroup { group in
      for _ in 0..<8 {
        group.addTask {
          await tap.shutdown()
          #expect(tap.address == nil)
        }
      }
    }
  }

  @Test func `a shutdown takes no longer than what it waits for`() async throws {
    let tap = try Tap.start(.test { $0.shutdownTimeout = .seconds(3_600) })
    let isDown = Gate()
    Task {
      await tap.shutdown()
      isDown.open()
    }
    try await isDown.wait("the shutdown")
  }

  @Test func `an address in use is an error, or is waited for`() async throws {
    let first = try Tap.start(.test())
    let port = try #require(first.address?.port)
    var configuration = Tap.Configuration.test(log: .memory)
    configuration.logging.recentLineLimit = 10
    configuration.endpoint = Endpoint.Configuration(address: .loopback(port: port))
    configuration.failsIfAddressInUse = true
    let error = #expect(throws: TapError.self) { try Tap.start(configuration) }
    #expect(error?.code == .endpoint)
    #expect(error?.description.hasPrefix("address in use: 127.0.0.1:\(port)") == true)

    configuration.failsIfAddressInUse = false
    // One that waits can be shut down.
    configuration.addressRetryInterval = .seconds(3600)
    let waiting = try Tap.start(configuration)
    await waiting.shutdown()
    #expect(waiting.address == nil)

    configuration.addressRetryInterval = .milliseconds(20)
    let second = try Tap.start(configuration)
    #expect(second.address == nil)
    let lines = try #require(second.requestLog)
    #expect(lines.flush(within: .seconds(10)))
    #expect(lines.recentText.contains("address in use"))
    #expect(lines.recentText.contains(#""severity":"WARN""#))
    #expect(!lines.recentText.contains(#""severity":"INFO""#))
    await first.shutdown()
    let address = try await Poll.until("the address") { second.address }
    #expect(try await second.get("/metrics").contains("session_tap_build_info"))
    _ = try await Poll.until("the word that it is served") {
      String(decoding: lines.recent(), as: UTF8.self).contains("the metrics are served at \(address) now")
    }
    #expect(lines.recentText.contains(#""severity":"INFO""#))
    await second.shutdown()
    #expect(second.address == nil)
  }

  /// Whether variables name the same address or not, and whether they are valid.
  @Test(arguments: [[:], ["OTEL_EXPORTER_PROMETHEUS_PORT": "PORT"], ["OTEL_EXPORTER_PROMETHEUS_HOST": "a b"]])
  func `a start that is to fail at an address in use fails, and can be tried again`(
    variables: [String: String]
  ) async throws {
    let first = try Tap.start(.test())
    let port = try #require(first.address?.port)
    let environment = variables.mapValues { $0 == "PORT" ? "\(port)" : $0 }
    var configuration = Tap.Configuration(environment: environment)
    configuration.endpoint?.address = .loopback(port: port)
    (configuration.failsIfAddressInUse, configuration.isQuiet) = (true, true)
    let second = try Tap(configuration)
    for _ in 0..<2 { #expect(throws: TapError.self) { try second.start() } }
    await first.shutdown()
    try second.start()
    #expect(second.address?.port == port)
    await second.shutdown()
  }

  /// An interface may get the address later.
  @Test func `an address of the environment that cannot be used yet is waited for`() async throws {
    var configuration = Tap.Configuration.test(log: .memory) { $0.servesLog = true }
    let address = EndpointAddress.tcp(host: "192.0.2.1", port: 0)
    configuration.endpoint?.address = address
    configuration.environmentAddress = address
    configuration.endpoint?.access.allowsAnyoneFromNetwork = true
    let tap = try Tap.start(configuration)
    #expect(tap.address == nil)
    let log = try #require(tap.requestLog)
    #expect(log.flush(within: .seconds(10)))
    #expect(log.recentText.contains("its metrics are served as soon as that is over"))
    await tap.shutdown()
  }

  @Test func `a tap that is released without a shutdown says so in its log`() async throws {
    let folder = try TemporaryFolder()
    let path = folder("requests.jsonl")
    let origin = try Origin { _ in [.response()] }
    func makeSession() throws -> URLSession {
      let tap = try Tap.start(.test(log: .file(path)))
      return URLSession(configuration: tap.sessionConfiguration(from: .ephemeral, client: "orphan"))
    }
    let session = try makeSession()
    _ = try await session.data(from: origin.url())
    let text = try await Poll.until("the line") {
      let text = try String(contentsOfFile: path, encoding: .utf8)
      return text.contains("released without a shutdown") ? text : nil
    }
    #expect(text.contains(#""severity":"WARN""#))
    let message =
      "the tap was released without a shutdown: its sessions are observed no more, and its metrics are not "
      + "served (keep a reference to the tap)"
    #expect(text.contains("\"message\":\"\(message)\""))
    session.invalidateAndCancel()
  }

  @Test func `no two causes of an error are the same`() {
    let codes: [TapError.Code] = [
      .metrics, .log, .endpoint, .push, .configuration, .startedBefore, .shutDown,
    ]
    for (index, code) in codes.enumerated() { #expect(codes.firstIndex(of: code) == index) }
  }

  @Test func `errors have their text where Foundation asks for it`() throws {
    let taken = Registry()
    let tap = try Tap(.test(), registry: taken)
    let address = Tap.Configuration.test { $0.endpoint?.address = .tcp(host: "203.0.113.1", port: 1) }
    let log = Tap.Configuration.test(log: .file("/no/such/requests.jsonl"))
    let template = Tap.Configuration.test { $0.inbound.pathTemplates = ["/users/:id"] }
    let configurations = [address, log, template, .test()]
    for (index, configuration) in configurations.enumerated() {
      let registry = index == 3 ? taken : Registry()
      let error = try #require(throws: TapError.self) {
        try Tap(configuration, registry: registry).start()
      }
      #expect(error.localizedDescription == "\(error)")
      let underlying = try #require(error.underlying)
      #expect(underlying.localizedDescription == "\(underlying)")
    }
    withExtendedLifetime(tap) {}
  }
}

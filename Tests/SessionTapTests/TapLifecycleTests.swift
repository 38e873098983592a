import TestSupport

@testable import SessionTap

@Suite struct TapLifecycleTests {
  @Test func `a tap that was shut down neither starts nor runs`() async throws {
    let tap = try Tap(.test())
    await tap.shutdown()
    #expect(throws: TapError.self) { try tap.start() }
    let error = await #expect(throws: TapError.self) { try await tap.run() }
    #expect(error?.code == .shutDown)
    #expect(tap.address == nil)
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
    #expect(String(decoding: lines.recent(LogQuery()), as: UTF8.self).contains("address in use"))
    await first.shutdown()
    let address = try await Poll.until("the address") { second.address }
    #expect(try await second.get("/metrics").contains("session_tap_build_info"))
    _ = try await Poll.until("the word that it is served") {
      String(decoding: lines.recent(), as: UTF8.self).contains("the metrics are served at \(address) now")
    }
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

  /// The folder of the socket may be made later, as an interface may get its address later.
  @Test func `an address that cannot be used yet is waited for`() async throws {
    let folder = try TemporaryFolder()
    var configuration = Tap.Configuration.test()
    let address = EndpointAddress.unix(path: folder("later/socket"))
    configuration.endpoint?.address = address
    configuration.environmentAddress = address
    configuration.addressRetryInterval = .milliseconds(20)
    let tap = try Tap.start(configuration)
    #expect(tap.address == nil)
    try FileManager.default.createDirectory(atPath: folder("later"), withIntermediateDirectories: false)
    _ = try await Poll.until("the address") { tap.address }
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
    session.invalidateAndCancel()
  }

  @Test func `errors have their text where Foundation asks for it`() async throws {
    var configuration = Tap.Configuration.test()
    configuration.endpoint?.address = .tcp(host: "203.0.113.1", port: 1)
    let error = try #require(throws: TapError.self) { try Tap.start(configuration) }
    #expect(error.localizedDescription == "\(error)")
    let underlying = try #require(error.underlying)
    #expect(underlying.localizedDescription == "\(underlying)")
  }
}

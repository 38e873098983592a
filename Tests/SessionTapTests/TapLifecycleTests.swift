import TestSupport

@testable import SessionTap

@Suite struct TapLifecycleTests {
  /// Of 127.0.0.0/8 one that no other test has: a port of it that is given up is nobody else's then.
  private static let host = "127.0.0.77"

  @Test func `a tap starts once, serves on, and does neither behind its shutdown`() async throws {
    let rows: [(calls: [String], codes: [TapError.Code?])] = [
      (["start", "start", "shutdown", "start", "run"], [nil, .startedBefore, nil, .shutDown, .shutDown]),
      (["shutdown", "start", "run", "shutdown"], [nil, .shutDown, .shutDown, nil]),
    ]
    for (calls, codes) in rows {
      let tap = try Tap(.test())
      var (found, isServing): ([TapError.Code?], Bool) = ([], false)
      for call in calls {
        do throws(TapError) {
          switch call {
          case "start": try tap.start()
          case "run": try await tap.run()
          default: await tap.shutdown()
          }
          found.append(nil)
          isServing = call == "start"
        } catch {
          found.append(error.code)
          let cause = error.code == .shutDown ? "shut down" : "started before"
          #expect(error.description == "the tap was \(cause); make another one")
        }
        #expect((tap.address != nil) == isServing)
        if isServing { #expect(try await tap.get("/healthz").hasPrefix("HTTP/1.1 200 ")) }
      }
      #expect(found == codes, "\(calls)")
    }
  }

  @Test(arguments: [(true, true), (false, true), (false, false)])
  func `a service runs until its task is cancelled or the tap is shut down`(
    isStarted: Bool, isCancelled: Bool
  ) async throws {
    let tap = try Tap(.test())
    if isStarted { try tap.start() }
    let runs = (0..<(isStarted ? 2 : 1)).map { _ in Task { try await tap.run() } }
    try await Poll.until("the address") { tap.address != nil }
    if isCancelled { runs[0].cancel() } else { await tap.shutdown() }
    for run in runs { try await run.value }
    #expect(tap.address == nil)
    #expect(throws: TapError.self) { try tap.start() }
  }

  @Test func `services that begin at once start the tap once`() async throws {
    for _ in 0..<Extent.of(20, extensive: 200) {
      let (tap, begin, ready) = (try Tap(.test()), Gate(), Watched(0))
      let runs = (0..<8).map { _ in
        Task(executorPreference: ThreadExecutor.shared) { () -> TapError.Code? in
          ready.change { $0 += 1 }
          begin.waitBlocking()
          do throws(TapError) { try await tap.run() } catch { return error.code }
          return nil
        }
      }
      try await ready.wait("the tasks") { $0 == runs.count }
      begin.open()
      try await Poll.until("the address") { tap.address != nil }
      await tap.shutdown()
      // One that begins late finds a tap that is shut down.
      for run in runs { #expect(await run.value != .startedBefore) }
    }
  }

  @Test func `every shutdown returns when the tap is shut down, and waits for nothing else`() async throws {
    let tap = try Tap.start(.test { $0.shutdownTimeout = .seconds(3_600) })
    let down = Watched(0)
    for _ in 0..<8 {
      Task {
        await tap.shutdown()
        if tap.address == nil { down.change { $0 += 1 } }
      }
    }
    try await down.wait("the shutdown") { $0 == 8 }
  }

  /// Where it is to fail it does, and can be tried again.
  @Test func `an address in use is an error`() async throws {
    let first = try Tap.start(.test(at: .tcp(host: Self.host, port: 0)))
    let address = try #require(first.address)
    let second = try Tap(.test(at: address) { $0.failsIfAddressInUse = true })
    for _ in 0..<2 {
      let error = #expect(throws: TapError.self) { try second.start() }
      #expect(error?.code == .endpoint)
      #expect(error?.description.hasPrefix("address in use: \(address)") == true)
    }
    await first.shutdown()
    try second.start()
    #expect(second.address == address)
    await second.shutdown()
  }

  @Test func `an address in use is waited for`() async throws {
    let first = try Tap.start(.test(at: .tcp(host: Self.host, port: 0)))
    let address = try #require(first.address)
    var configuration = Tap.Configuration.test(at: address) {
      ($0.servesLog, $0.addressRetryInterval) = (true, .seconds(3_600))
    }
    // One that waits can be shut down.
    let waiting = try Tap.start(configuration)
    await waiting.shutdown()
    #expect(waiting.address == nil)

    configuration.addressRetryInterval = .milliseconds(20)
    let second = try Tap.start(configuration)
    func lines() throws -> [String] {
      second.requestLog?.flush()
      return try second.logLines.map { $0.row("severity", "message") }
    }
    #expect(try second.address == nil && lines().count == 1 && lines()[0].hasPrefix("WARN address in use"))
    await first.shutdown()
    try await Poll.until("the address") { second.address == address }
    #expect(try await second.get("/metrics").contains("session_tap_build_info"))
    try await Poll.until("the word that it is served") {
      try lines().last == "INFO the metrics are served at \(address) now"
    }
    await second.shutdown()
    #expect(second.address == nil)
  }

  /// A tap's threads block SIGPIPE, and no others do. In a process of its own, since other tests have taps.
  @Test(.needs(.program)) func `taps that came and went leave no thread, though their requests are active`()
    async
  {
    await #expect(processExitsWith: .exitCode(7)) {
      func threadCount() -> Int {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        return threads.count { thread in
          let status = try? String(contentsOfFile: "/proc/self/task/\(thread)/status", encoding: .utf8)
          let mask = status?.split(separator: "\n").first { $0.hasPrefix("SigBlk:\t") }?.suffix(16)
          return mask.flatMap { UInt64($0, radix: 16) }.map { $0 >> (SIGPIPE - 1) & 1 == 1 } ?? false
        }
      }
      var requests: [ActiveRequest] = []
      for number in 0..<400 {
        let tap = try Tap.start(.test(log: .memory))
        requests.append(tap.inbound.begin(method: "GET", path: "/"))
        if number == 0 { try await Poll.until("a thread of the tap's") { threadCount() > 0 } }
        await tap.shutdown()
      }
      // The first report of a request is due after 30 s.
      try await Poll.until(seconds: 10, "the end of all threads") { threadCount() == 0 }
      withExtendedLifetime(requests) { exit(7) }
    }
  }
}

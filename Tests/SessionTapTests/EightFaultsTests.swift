import SessionTap
import TestSupport

/// For how long a look-up takes, in milliseconds.
private let lookUpTime = Atomic<Int32>(0)

/// Stands before libc's for the whole test program.
@_cdecl("getaddrinfo")
func getaddrinfoOfTests(
  _ name: UnsafePointer<CChar>?, _ service: UnsafePointer<CChar>?, _ hints: UnsafePointer<addrinfo>?,
  _ result: UnsafeMutablePointer<UnsafeMutablePointer<addrinfo>?>?
) -> Int32 {
  typealias Call =
    @convention(c) (
      UnsafePointer<CChar>?, UnsafePointer<CChar>?, UnsafePointer<addrinfo>?,
      UnsafeMutablePointer<UnsafeMutablePointer<addrinfo>?>?
    ) -> Int32
  // RTLD_NEXT
  guard let next = dlsym(UnsafeMutableRawPointer(bitPattern: -1), "getaddrinfo") else { return EAI_SYSTEM }
  let time = lookUpTime.load(ordering: .relaxed)
  // libcurl looks up no localhost.
  guard let name, String(cString: name) == "rates.test" else {
    return unsafeBitCast(next, to: Call.self)(name, service, hints, result)
  }
  if time > 0 { poll(nil, 0, time) }
  return unsafeBitCast(next, to: Call.self)("127.0.0.1", service, hints, result)
}

/// A service with three upstreams in which one thing goes wrong at a time: the first line of `/why` names it
/// and the client within 30 s, and says that all is well before and after.
@Suite(.enabled(if: Extent.isAlone, "beside other tests, requests are slow indeed"))
struct EightFaultsTests {
  private enum Fault: String, CaseIterable {
    case slow, hanging, refusing, errors, lookUp, processor, manyCalls, pool

    /// What the first line has.
    var words: [String] {
      switch self {
      case .slow: ["requests of `payments` to GET", "took", "of it is processing", "waiting for `payments`"]
      case .hanging: ["of `stock` to GET", " for the response, the oldest since "]
      case .refusing: ["requests of `rates` to GET", "failed", "no connection could be made"]
      case .errors: ["requests of `payments` to GET", "failed", "500 Internal Server Error"]
      case .lookUp:
        [
          "requests of `rates` to GET", "of them over 1 s",
          "of it is resolve, the look-up of the host's name",
        ]
      case .processor: ["served requests of GET /checkout took", "of it the app's own; the process keeps"]
      case .manyCalls: ["GET /checkout makes ", " calls of `stock` for each request"]
      // What nobody starts, no client has made: the tap is not asked either.
      case .pool: ["URLSession ", "Dispatch has no thread left"]
      }
    }
  }

  /// The faulty service.
  private final class Service: Sendable {
    let tap: Tap
    private let current = Watched<(fault: Fault?, end: Gate)>((nil, Gate()))
    private let upstreams: [String: Origin]
    private let sessions: [String: URLSession]
    private let closedPort: Int

    init() throws {
      tap = try Tap.start(.test { $0.outbound.pathTemplates = ["/{name}"] })
      let (tap, current) = (tap, current)
      let names = ["payments", "stock", "rates"]
      let origins = try names.map { name in
        try Origin(keepsRequests: false) { _ in
          switch (current.state.fault, name) {
          case (.slow, "payments"): [.think(400), .response()]
          case (.hanging, "stock"): [.hold(current.state.end), .response()]
          case (.errors, "payments"): [.response("500 Internal Server Error")]
          default: [.response()]
          }
        }
      }
      upstreams = Dictionary(uniqueKeysWithValues: zip(names, origins))
      sessions = upstreams.keys.reduce(into: [:]) { sessions, name in
        sessions[name] = tap.session(client: name, configuration: .ephemeral)
      }
      let closed = try Origin { _ in [] }
      closed.stop()
      closedPort = closed.port
    }

    func begin(_ fault: Fault) {
      let end = Gate()
      current.change { $0 = (fault, end) }
      if fault == .lookUp { lookUpTime.store(2_000, ordering: .relaxed) }
      guard fault == .pool else { return }
      for number in 0..<1_000 { DispatchQueue(label: "app-\(number)").async { end.waitBlocking() } }
    }

    func end() {
      lookUpTime.store(0, ordering: .relaxed)
      current.change { $0.fault = nil }
      current.state.end.open()
    }

    /// Serves requests one after another, for ever.
    func serve() {
      while true {
        let request = tap.inbound.begin(method: "GET", path: "/checkout", route: "/checkout")
        let isWell = TraceContext.$current.withValue(request.trace) { checkout() }
        request.end(statusCode: isWell ? 200 : 502)
        poll(nil, 0, 50)
      }
    }

    private func checkout() -> Bool {
      if current.state.fault == .processor {
        let end = Instant.now.advanced(by: .milliseconds(400))
        while Instant.now < end {}
      }
      let calls = current.state.fault == .manyCalls ? 10 : 1
      return call("payments") && (0..<calls).allSatisfy { _ in call("stock") } && call("rates")
    }

    private func call(_ name: String) -> Bool {
      // Such a session has no connection and no address yet.
      let isNew = name == "rates"
      let session = isNew ? tap.session(client: name, configuration: .ephemeral) : sessions[name]
      let port = current.state.fault == .refusing && isNew ? closedPort : upstreams[name]?.port ?? 0
      guard let session, let url = URL(string: "http://\(isNew ? "rates.test" : "127.0.0.1"):\(port)/\(name)")
      else { return false }
      let done = DispatchSemaphore(value: 0)
      let isWell = Mutex(false)
      session.dataTask(with: url) { _, response, _ in
        isWell.withLock { $0 = (response as? HTTPURLResponse)?.statusCode == 200 }
        done.signal()
      }.resume()
      done.wait()
      if isNew { session.finishTasksAndInvalidate() }
      return isWell.withLock { $0 }
    }

    func why() throws -> String {
      String(try RawClient.body(of: RawClient(port: tap.address?.port ?? 0).getBlocking("/why")))
    }

    /// Asks until the first line has these words, for so many seconds.
    func wait(for words: [String], seconds: Double) throws -> (isSaid: Bool, after: Double, line: String) {
      let start = Instant.now
      while true {
        let line = String(try why().prefix { $0 != "\n" })
        let time = start.duration(to: .now).seconds
        if words.allSatisfy(line.contains) { return (true, time, line) }
        if time > seconds { return (false, time, line) }
        poll(nil, 0, 500)
      }
    }
  }

  /// Makes faults one after another, in a process that others may run beside.
  private static func makeFaults(_ faults: [Fault]) throws -> Never {
    // One that takes the processors from all other processes waits for their end. The tests are one program.
    let program = open("/proc/self/exe", O_RDONLY | O_CLOEXEC)
    if !faults.contains(.processor) { flock(program, LOCK_SH) }
    let service = try Service()
    for _ in 0..<3 { Thread.detachNewThread { service.serve() } }
    // What was before is known as soon as what is now is not all.
    poll(nil, 0, 40_000)
    var (failures, said) = (0, "")
    func check(_ name: String, _ result: (isSaid: Bool, after: Double, line: String)) {
      let text = "\(result.isSaid ? "ok" : "NOT SAID") \(name), \(result.after) s: \(result.line)"
      if !result.isSaid {
        failures += 1
        Issue.record("\(text)")
      }
      said += "\(text)\n"
      // For people to look at, where they ask for it.
      if let folder = ProcessInfo.processInfo.environment["TESTS_ARTIFACTS"] {
        let name = faults.map(\.rawValue).joined(separator: "-")
        try? said.write(toFile: "\(folder)/faults-\(name).txt", atomically: true, encoding: .utf8)
      }
    }
    check("before", try service.wait(for: ["All is well"], seconds: 0))
    for fault in faults {
      if fault == .processor { flock(program, LOCK_EX) }
      service.begin(fault)
      check(fault.rawValue, try service.wait(for: fault.words, seconds: 30))
      service.end()
      check("after \(fault.rawValue)", try service.wait(for: ["All is well"], seconds: 40))
    }
    exit(failures == 0 ? 7 : 1)
  }

  private static func make(_ faults: Fault...) async throws {
    // Not on a thread of Swift's tasks, which have Dispatch's.
    Thread.detachNewThread {
      do { try Self.makeFaults(faults) } catch { exit(2) }
    }
    _ = try await Gate().wait(seconds: 900)
  }

  // Side by side, since they wait most of their time: two faults of few seconds, or one of half a minute.
  // What has blocked the pool comes last.

  @Test func `an upstream is slow, then the pool is blocked`() async {
    await #expect(processExitsWith: .exitCode(7)) { try await Self.make(.slow, .pool) }
  }

  @Test func `an upstream does not answer, then it is called many times`() async {
    await #expect(processExitsWith: .exitCode(7)) { try await Self.make(.hanging, .manyCalls) }
  }

  @Test func `an upstream refuses connections`() async {
    await #expect(processExitsWith: .exitCode(7)) { try await Self.make(.refusing) }
  }

  @Test func `the look-up of an upstream's name is slow`() async {
    await #expect(processExitsWith: .exitCode(7)) { try await Self.make(.lookUp) }
  }

  @Test func `an upstream answers with errors, then the app takes the processors`() async {
    await #expect(processExitsWith: .exitCode(7)) { try await Self.make(.errors, .processor) }
  }
}

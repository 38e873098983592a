import TestSupport

@testable import TapURLSession

/// How long requests wait for a connection, where other transfers of the session hold all of them. A gate of
/// the server's ends the wait, so each is known: what the tap says has to be right or absent.
struct WaitTests {
  /// What holds the connections, from the table of programs in which a count of transfers is wrong.
  enum Holder: String, CaseIterable, Sendable {
    case plain, challenge, redirects, suspension, otherSpelling, installed, cancelled, closed

    /// How many connections a host gets.
    var limit: Int { self == .redirects ? 6 : self == .cancelled ? 2 : 1 }
  }

  @Test(arguments: Holder.allCases)
  func `a wait is that until the server lets go`(holder: Holder) async throws {
    let run = try WaitRun(limit: holder.limit, isInstalled: holder == .installed)
    defer { run.stop() }
    try await run.hold(by: holder)
    try await run.measureWait(
      at: holder == .otherSpelling ? run.url("localhost", "/wait") : run.origin.url("/wait"))
  }

  /// Where a request that no filter chose holds the only connection, the time before an upload is none of it.
  @Test func `a wait for what the tap does not see is no upload`() async throws {
    let options = with(RequestConfiguration()) { $0.filter = { !$0.url.hasSuffix("/held") } }
    let run = try WaitRun(limit: 1, options: options)
    defer { run.stop() }
    try await run.hold(by: .plain)
    let request = with(URLRequest(url: run.origin.url("/wait"))) {
      ($0.httpMethod, $0.httpBody) = ("POST", Data([1, 2, 3]))
    }
    let (observation, _) = try await run.endWait(of: request)
    let wait = observation.timings[nanoseconds: .queue]
    #expect(observation.timings[.upload] == nil, "\(observation.timings)")
    #expect(wait.map { $0 >= WaitRun.pause * 1_000_000 - TCPInfo.resolution } != false)
  }

  /// By TLS, on connections that are closed after each response, by IPv6, and in a session that was tapped
  /// when it existed.
  @Test(
    .needs(.program), .usesFrontServer, .serialized,
    arguments: [(FrontServer.Way.tls, 1), (.tlsThatCloses, 6), (.ipv6, 2)])
  func `a wait is that of other ways to a server`(way: FrontServer.Way, limit: Int) async throws {
    try await TrustedCertificate.prepare()
    try ExitValues.give("WaitTests.1", way, limit)
    await #expect(processExitsWith: .success) {
      let (way, limit) = try ExitValues.take("WaitTests.1", FrontServer.Way.self, Int.self)
      let run = try WaitRun(limit: limit, isInstalled: limit == 2)
      run.session.keep()
      let front = try await FrontServer.start(before: run.origin)
      for _ in 0..<limit { run.resume(front.url(way, "/held")) }
      try await run.held(limit)
      // Over TLS a connection that closes ends with an alert, and only libcurl could say it.
      try await run.measureWait(at: front.url(way, "/wait"), isKnown: way != .tlsThatCloses)
      try await front.stop()
    }
  }

  /// One request at a time waits for nothing.
  @Test(.needs(.program), .usesFrontServer) func `by HTTP/2 there is no wait`() async throws {
    try await TrustedCertificate.prepare()
    await #expect(processExitsWith: .success) {
      let run = try WaitRun(limit: 6)
      run.session.keep()
      let front = try await FrontServer.start(before: run.origin)
      for _ in 0..<20 { _ = try await run.session.data(from: front.url(.http2, "/wait")) }
      let ended = try await run.ended(20)
      #expect(ended.allSatisfy { $0.protocolVersion == .http2 && $0.timings[.queue] == nil })
      // Each took less than 10 ms, or nothing else was sent meanwhile.
      let whole = ended.filter { $0.timings[.transfer] != nil }
      #expect(!whole.isEmpty && whole.allSatisfy { $0.phaseSum == $0.elapsed })
      try await front.stop()
    }
  }

  /// libcurl tells no time of a connection whose handshake fails: all since the look-up of the name is the
  /// handshake's.
  @Test func `a handshake that fails is the handshake's time`() async throws {
    let pause = 60
    let origin = try Origin(greeting: [.think(pause), .text("this is no TLS\r\n"), .close]) { _ in [] }
    let (tap, observer) = URLSessionTap.observed()
    let url = try #require(URL(string: "https://127.0.0.1:\(origin.port)/"))
    await #expect(throws: URLError.self) { try await tap.session().data(from: url) }
    let observation = try await observer.end()
    // From 8.0 on libcurl says when the connection was open. That may be noted while the server pauses.
    let connect = observation.timings[nanoseconds: .connect]
    #expect((connect != nil) == Scenario.isCurl("8.0"))
    let handshake = try #require(observation.timings[nanoseconds: .tls], "\(observation.timings)")
    #expect((connect ?? 0) + handshake >= Int64(pause - 1) * 1_000_000)
    #expect(observation.phaseSum == observation.elapsed && observation.cutOffPhase == .tls)
  }

  /// All of a proxy's hosts share its connections.
  @Test(.needs(.program)) func `a wait for a proxy is that until the server lets go`() async {
    await #expect(processExitsWith: .success) {
      let run = try WaitRun(limit: 6)
      // libcurl takes it from the environment.
      setenv("http_proxy", "http://127.0.0.1:\(run.origin.port)", 1)
      setenv("no_proxy", "", 1)
      let urls = (0...6).compactMap { URL(string: "http://host\($0).test/\($0 < 6 ? "held" : "wait")") }
      for url in urls.prefix(6) { run.resume(url) }
      try await run.held(6)
      try await run.measureWait(at: urls[6])
    }
  }
}

/// One session whose connections are held, and a request that waits.
final class WaitRun: Sendable {
  let origin: Origin
  let session: URLSession
  private let observer = RecordingObserver()
  private let delegate = TranscriptDelegate(.init(credential: Scenario.credential), uploadBody: [])
  private let letGo: Gate
  private let arrivals: Arrivals
  /// The server's pause between the gate and the end of what it held, in milliseconds.
  fileprivate static let pause: Int64 = 60

  init(limit: Int, isInstalled: Bool = false, options: RequestConfiguration = .init()) throws {
    let (letGo, arrivals) = (Gate(), Arrivals())
    origin = try Origin { request in
      if request.path.hasSuffix("/moved") { return [.redirect(to: "/held")] }
      if request.path.hasSuffix("/secret"), request.headers["authorization"] == nil {
        return [.response("401 Unauthorized", headers: [("WWW-Authenticate", "Basic realm=\"x\"")])]
      }
      arrivals.note(request.path)
      if request.path.hasSuffix("/wait") { return [.response(body: [1])] }
      let held = [OriginStep.hold(letGo), .think(Int(Self.pause))]
      if request.path.hasSuffix("/closed") {
        return held + [.response(headers: [("Connection", "close")], body: [1]), .close]
      }
      return held + [.response(body: [1])]
    }
    (self.letGo, self.arrivals) = (letGo, arrivals)
    let base = URLSessionConfiguration.ephemeral
    base.httpMaximumConnectionsPerHost = limit
    let tap = URLSessionTap(observers: [observer], options: options)
    if isInstalled {
      session = URLSession(configuration: base, delegate: delegate, delegateQueue: nil)
      // Of a session that has made tasks before, not all are known.
      if limit < 6 { _ = session.dataTask(with: origin.url()) }
      tap.install(on: session, client: "test")
    } else {
      session = tap.session(base, delegate: delegate)
    }
  }

  func stop() {
    letGo.open()
    session.invalidateAndCancel()
    origin.stop()
  }

  func url(_ host: String, _ path: String) throws -> URL {
    try #require(URL(string: "http://\(host):\(origin.port)\(path)"))
  }

  @discardableResult
  func resume(_ url: URL) -> URLSessionTask {
    let task = session.dataTask(with: url)
    task.resume()
    return task
  }

  /// Waits until the server holds so many requests.
  func held(_ count: Int) async throws { try await arrivals.wait(for: count) }

  func hold(by holder: WaitTests.Holder) async throws {
    switch holder {
    case .plain, .installed: resume(origin.url("/held"))
    case .closed: resume(origin.url("/closed"))
    case .challenge: resume(origin.url("/secret"))
    case .redirects:
      for _ in 0..<6 { resume(origin.url("/moved")) }
      return try await held(6)
    case .suspension:
      let task = resume(origin.url("/held"))
      try await held(1)
      task.suspend()
      task.resume()
      // Foundation sends the request again, on another connection.
      return try await held(2)
    case .otherSpelling: resume(try url("LOCALHOST", "/held"))
    case .cancelled:
      resume(origin.url("/held"))
      resume(origin.url("/held"))
      try await held(2)
      for _ in 0..<3 {
        let started = observer.started.count
        let task = resume(origin.url("/wait"))
        try await observer.waitForStarts(started + 1)
        task.cancel()
      }
      return try await observer.waitForEnds(3)
    }
    try await held(1)
  }

  func ended(_ count: Int) async throws -> [RequestObservation] {
    try await observer.waitForEnds(count)
    return observer.ended
  }

  /// Makes a request that has to wait, and lets the server go on: when, the second result says.
  func endWait(of request: URLRequest) async throws -> (RequestObservation, opened: Int64) {
    let (started, ended) = (observer.started.count, observer.ended.count)
    session.dataTask(with: request).resume()
    try await observer.waitForStarts(started + 1)
    let opened = Timestamp.now.nanosecondsSinceEpoch
    letGo.open()
    try await observer.waitForEnds(ended + 1)
    return (try await observer.ended(pathEnding: "/wait"), opened)
  }

  /// Makes a request that has to wait, lets the server go on, and compares the wait.
  func measureWait(at url: URL, isKnown: Bool = true) async throws {
    let (observation, opened) = try await endWait(of: URLRequest(url: url))
    let arrived = try await arrivals.instant(ofPathEnding: "/wait")
    let earliest = opened + Self.pause * 1_000_000
    let phases = observation.timings
    // Two ticks of the kernel's clock, at least.
    let precision = TCPInfo.resolution
    #expect(phases[.transfer] != nil || !isKnown, "\(phases)")
    // Known in any case, if there was no wait, as below.
    guard phases[.transfer] != nil else { return #expect(phases[.queue] == nil) }
    // None, if this process was so late to hand the request to libcurl that the connection was free by then:
    // it is the process's own time then.
    let wait = phases[nanoseconds: .queue] ?? 0
    let local = try #require(phases[nanoseconds: .local])
    let begin = observation.start.nanosecondsSinceEpoch
    #expect(begin + wait <= arrived + precision)
    #expect(begin + wait + local >= earliest - precision)
    #expect(observation.phaseSum == observation.elapsed)
  }
}

final class Arrivals: Sendable {
  private let all = Watched<[(path: String, instant: Int64)]>([])

  func note(_ path: String) { all.change { $0.append((path, Timestamp.now.nanosecondsSinceEpoch)) } }

  func wait(for count: Int) async throws { try await all.wait("arrival \(count)") { $0.count >= count } }

  func instant(ofPathEnding suffix: String) async throws -> Int64 {
    try await all.wait("an arrival of \(suffix)") { $0.contains { $0.path.hasSuffix(suffix) } }
    return all.state.last { $0.path.hasSuffix(suffix) }?.instant ?? 0
  }
}

extension RequestObservation {
  /// What all phases take, in nanoseconds.
  var phaseSum: Int64 { RequestTimings.Phase.allCases.reduce(0) { $0 + (timings[nanoseconds: $1] ?? 0) } }

  /// A part of the request was sent again, as TCP does where the other side is late to acknowledge (RFC 8985,
  /// section 7): when the last of a small body went out is unknown then.
  var isSentAgain: Bool { retransmittedSegments ?? 0 > 0 }

  /// The first of ten of which nothing was sent again.
  static func sentOnce(_ make: () async throws -> RequestObservation) async throws -> RequestObservation {
    for _ in 0..<10 {
      let made = try await make()
      if !made.isSentAgain { return made }
    }
    throw SentAgain()
  }

  private struct SentAgain: Error {}
}

extension RecordingObserver {
  /// The last request that has ended whose path ends like this.
  func ended(pathEnding suffix: String) async throws -> RequestObservation {
    try await Poll.until("the end of \(suffix)") {
      ended.last { $0.request.url.hasSuffix(suffix) && $0.end != .cancelled }
    }
  }
}

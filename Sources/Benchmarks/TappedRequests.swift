import Foundation
import SessionTap

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension Benchmark {
  /// A small GET on loopback, one in flight.
  static let requestTappedC1 = requests("request.tapped_vs_stock.c1", inFlight: 1)

  /// The same, eight in flight.
  static let requestTappedC8 = requests("request.tapped_vs_stock.c8", inFlight: 8)

  /// The same, 4,000 at once: all but six wait for a connection.
  static let requestTappedBurst = requests("request.tapped_vs_stock.burst", inFlight: 4_000, rounds: 21)

  /// A small GET with a black box, beside one without, one in flight. More rounds than the others have: the
  /// box is a hundredth of what a tap takes.
  static let requestBlackBoxC1 = Benchmark(
    "request.black_box_vs_tapped.c1", unit: "us", reference: "the same without a black box", rounds: 1_001,
    isUsable: FileManager.default.isWritableFile(atPath: "/dev/shm"),
    value: { try await LoopbackTransfers.shared.get(by: .boxed, inFlight: 1).time },
    referenceValue: { try await LoopbackTransfers.shared.get(by: .tapped, inFlight: 1).time })

  /// The processor time of a GET with a connection of its own, the server's part included, where the process
  /// has 6,000 more descriptors.
  static let requestTappedDescriptorsC1 = descriptors(inFlight: 1)

  /// The same, sixteen in flight.
  static let requestTappedDescriptorsC16 = descriptors(inFlight: 16)

  /// A download of 10 MB on loopback.
  static let downloadTapped = Benchmark(
    "download.tapped_vs_stock", unit: "ms", reference: "the same without the tap", rounds: 101,
    value: { try await LoopbackTransfers.shared.download(by: .tapped) * 1_000 },
    referenceValue: { try await LoopbackTransfers.shared.download(by: .stock) * 1_000 })

  /// Heap allocations of a tapped GET beyond those of a stock one, metrics and log included: of 1,000 after
  /// 500.
  static let requestAllocations = Benchmark(
    "request.allocations", unit: "allocs", reference: "a whole request without the tap", rounds: 1,
    isUsable: Valgrind.isInstalled,
    value: {
      let tapped = try await Valgrind.allocations(of: .tappedRequests, count: 1_000, after: 500)
      return try await tapped - Valgrind.allocations(of: .stockRequests, count: 1_000, after: 500)
    },
    referenceValue: { try await Valgrind.allocations(of: .stockRequests, count: 1_000, after: 500) })

  /// Instructions of a tapped GET beyond those of a stock one, metrics and log included: of 1,000 after 500,
  /// in all threads. The median of five, which still differs by some 3,000: by what Foundation does, and by
  /// how many requests a batch has under valgrind.
  static let requestInstructions = instructions("request.instructions", of: .tappedRequests, rounds: 5)

  /// Instructions that a `traceparent` costs: of a stock GET with one beyond a GET without one. Most are
  /// Foundation's.
  static let requestTraceInstructions = instructions(
    "request.trace.instructions", of: .tracedRequests, rounds: 1)

  private static func instructions(_ name: String, of loop: Valgrind.Loop, rounds: Int) -> Benchmark {
    Benchmark(
      name, unit: "instructions", reference: "one uncontended Mutex lock and unlock", rounds: rounds,
      isUsable: Valgrind.isInstalled,
      value: {
        let instructions = try await Valgrind.instructions(of: loop, count: 1_000, after: 500)
        return try await instructions - Valgrind.instructions(of: .stockRequests, count: 1_000, after: 500)
      },
      referenceValue: { try await Valgrind.instructions(of: .mutex, count: 200_000) })
  }

  private static func requests(_ name: String, inFlight: Int, rounds: Int = 301) -> Benchmark {
    Benchmark(
      name, unit: "us", reference: "the same without the tap", rounds: rounds,
      value: { try await LoopbackTransfers.shared.get(by: .tapped, inFlight: inFlight).time },
      referenceValue: { try await LoopbackTransfers.shared.get(by: .stock, inFlight: inFlight).time })
  }

  private static func descriptors(inFlight: Int) -> Benchmark {
    let get = { @Sendable (kind: LoopbackTransfers.Kind) in
      try await LoopbackTransfers.shared.openDescriptors(6_000)
      return try await LoopbackTransfers.shared.get(by: kind, inFlight: inFlight, closes: true).processor
    }
    return Benchmark(
      "request.tapped_vs_stock.descriptors.c\(inFlight)", unit: "us", reference: "the same without the tap",
      rounds: 101,
      value: { try await get(.tapped) }, referenceValue: { try await get(.stock) })
  }
}

/// A server, and sessions that ask it.
actor LoopbackTransfers {
  static let shared = LoopbackTransfers()

  /// The kinds of sessions: stock, observed with metrics and a log, and with a black box too.
  enum Kind { case stock, tapped, boxed }

  private struct Running {
    let tap: Tap
    let small: URL
    let large: URL
  }

  /// Two sessions that are compared for some rounds. Their place in memory makes a difference of 1% or 2%,
  /// between two stock ones too; it averages out over many pairs.
  private struct Pair {
    static let rounds = 10

    /// What is compared with a tapped session.
    let kind: Kind
    let sessions: [Kind: URLSession]
    var roundsLeft = 2 * rounds
  }

  /// A round is so many requests, or one for each that is in flight.
  private static let requestsARound = 48
  private static let firstRequests = 20
  private static let largeBody = [UInt8](repeating: 0x5A, count: 10_000_000)
  private var server: Endpoint?
  private var knownOrigin: String?
  private var running: Running?
  private var boxedTap: Tap?
  private var pair: Pair?
  private var pairsMade = 0

  private var descriptors: [Int32] = []

  func openDescriptors(_ count: Int) throws {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = min(limit.rlim_max, rlim_t(count + 1_024))
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    while descriptors.count < count { descriptors.append(dup(1)) }
    if descriptors.contains(-1) { throw POSIXError(.EMFILE) }
  }

  /// The microseconds, and those of this process's processor time, for each of some requests that are made
  /// this many at a time.
  func get(by kind: Kind, inFlight: Int, closes: Bool = false) async throws -> (
    time: Double, processor: Double
  ) {
    let running = try start()
    let session = try await freshSession(kind)
    let requestsEach = max(1, Self.requestsARound / inFlight)
    var request = URLRequest(url: running.small)
    if closes { request.setValue("close", forHTTPHeaderField: "Connection") }
    let (clock, processor) = (ContinuousClock(), Stopwatch.processorSeconds)
    let elapsed = try await clock.measure {
      try await withThrowingTaskGroup { group in
        for _ in 0..<inFlight {
          group.addTask { [request] in
            for _ in 0..<requestsEach { _ = try await session.data(for: request) }
          }
        }
        try await group.waitForAll()
      }
    }
    let scale = 1_000_000 / Double(requestsEach * inFlight)
    return (elapsed / .seconds(1) * scale, (Stopwatch.processorSeconds - processor) * scale)
  }

  /// Makes some requests, one after another, after a few that open the connection and fill the caches.
  func get(_ count: Int, by kind: Kind, isTraced: Bool = false) async throws {
    let running = try start()
    let session = try await freshSession(kind)
    for _ in 0..<Self.firstRequests + count {
      _ = try await session.data(for: isTraced ? .traced(running.small) : URLRequest(url: running.small))
    }
    // A scrape delivers the requests that wait for the metrics and the log.
    _ = running.tap.registry.exposition()
  }

  /// Serves some requests, after a few that make the series, and writes their lines.
  func serve(_ count: Int) async throws {
    let tap = try start().tap
    for _ in 0..<Self.firstRequests + count {
      let request = tap.inbound.begin(method: "GET", path: "/users/42", scheme: "http")
      request.end(statusCode: 200, route: "/users/{id}", responseBodySize: 5)
    }
    await tap.flush(within: .seconds(60))
  }

  func get(from session: URLSession) async throws { _ = try await session.data(from: start().small) }

  func download(by kind: Kind) async throws -> Double {
    let running = try start()
    let session = try await freshSession(kind)
    let clock = ContinuousClock()
    let start = clock.now
    let (file, _) = try await session.download(from: running.large)
    let elapsed = clock.now - start
    try FileManager.default.removeItem(at: file)
    return elapsed / .seconds(1)
  }

  /// The warm session for a round. After its rounds a pair is replaced.
  private func freshSession(_ kind: Kind) async throws -> URLSession {
    if var pair, let session = pair.sessions[kind], pair.roundsLeft > 0 {
      pair.roundsLeft -= 1
      self.pair = pair
      return session
    }
    let other = kind == .tapped ? pair?.kind ?? .stock : kind
    for session in pair?.sessions.values ?? [:].values { session.invalidateAndCancel() }
    pairsMade += 1
    var sessions: [Kind: URLSession] = [:]
    for kind in pairsMade.isMultiple(of: 2) ? [.tapped, other] : [other, .tapped] {
      sessions[kind] = URLSession(configuration: try configuration(kind))
    }
    for _ in 0..<Self.firstRequests {
      for session in sessions.values { _ = try await session.data(from: start().small) }
    }
    pair = Pair(kind: other, sessions: sessions)
    return try await freshSession(kind)
  }

  private func configuration(_ kind: Kind) throws -> URLSessionConfiguration {
    if kind == .stock { return .ephemeral }
    let tap = kind == .tapped ? try start().tap : try startBoxedTap()
    return tap.sessionConfiguration(from: .ephemeral, client: "benchmark")
  }

  private func startBoxedTap() throws -> Tap {
    if let boxedTap { return boxedTap }
    let tap = try Self.startTap(blackBox: Self.blackBoxPath)
    atexit { unlink(LoopbackTransfers.blackBoxPath) }
    boxedTap = tap
    return tap
  }

  private static let blackBoxPath = "/dev/shm/session-tap-benchmarks-\(getpid())"

  /// Asks the server of another process.
  func use(_ origin: String) { knownOrigin = origin }

  /// Where the server is, which is one of this process unless another is to be used.
  func origin() throws -> String {
    if let knownOrigin { return knownOrigin }
    let server = Endpoint(
      configuration: .init(address: .loopback(port: 0)),
      routes: [
        EndpointRoute.immediate("/small") { _ in .text("hello\n") },
        EndpointRoute.immediate("/large") { _ in EndpointResponse(body: Self.largeBody) },
      ])
    let origin = "http://\(try server.start())"
    (self.server, knownOrigin) = (server, origin)
    return origin
  }

  private func start() throws -> Running {
    if let running { return running }
    let origin = try origin()
    guard let small = URL(string: "\(origin)/small"), let large = URL(string: "\(origin)/large")
    else { throw URLError(.badURL) }
    let made = Running(tap: try Self.startTap(), small: small, large: large)
    running = made
    return made
  }

  private static func startTap(blackBox: String? = nil) throws -> Tap {
    var configuration = Tap.Configuration(environment: [:])
    // As in an app: with an endpoint, the page keeps its history of each request, and requests to its port
    // are left out.
    configuration.endpoint = .init(address: .loopback(port: 0))
    configuration.isQuiet = true
    configuration.log = .file("/dev/null")
    configuration.blackBox = blackBox
    return try Tap.start(configuration)
  }
}

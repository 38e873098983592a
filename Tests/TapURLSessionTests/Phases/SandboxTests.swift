import TestSupport

@testable import TapURLSession

/// What a kernel or a sandbox says of a connection that it does not know.
enum KernelAnswer: Int, CaseIterable, Codable, Sendable {
  case honest, zeros, stateAndTimes, refused, short, garbage, noClock, noSegments, noRoundTrip

  static let current = Atomic<Int>(0)

  /// Whether nothing of it can be used.
  var isUseless: Bool { self != .honest && self != .noClock && self != .noRoundTrip }

  /// Whether a new socket is known, and what is said of a response cannot be.
  var isContradiction: Bool { self == .stateAndTimes || self == .noSegments }
}

/// Stands before libc's for the whole test program: what it says of a connection is changed where a test asks
/// for it.
@_cdecl("getsockopt")
func getsockoptOfSandbox(
  _ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: UnsafeMutableRawPointer?,
  _ length: UnsafeMutablePointer<socklen_t>?
) -> Int32 {
  typealias Call =
    @convention(c) (Int32, Int32, Int32, UnsafeMutableRawPointer?, UnsafeMutablePointer<socklen_t>?) -> Int32
  // RTLD_NEXT
  guard let next = dlsym(UnsafeMutableRawPointer(bitPattern: -1), "getsockopt") else { return -1 }
  let result = unsafeBitCast(next, to: Call.self)(descriptor, level, option, value, length)
  let answer = KernelAnswer(rawValue: KernelAnswer.current.load(ordering: .relaxed)) ?? .honest
  guard answer != .honest, level == Int32(IPPROTO_TCP), option == 11, result == 0, let value, let length
  else { return result }
  let bytes = UnsafeMutableRawBufferPointer(start: value, count: Int(length.pointee))
  func clear(_ ranges: Range<Int>...) {
    for range in ranges { for index in range.clamped(to: 0..<bytes.count) { bytes[index] = 0 } }
  }
  switch answer {
  case .honest: break
  case .zeros: clear(0..<256)
  // The state, `tcpi_rto`, and `tcpi_rtt` with its variance.
  case .stateAndTimes: clear(1..<8, 12..<68, 76..<256)
  case .refused:
    errno = EPERM
    return -1
  case .short: length.pointee = 8
  case .garbage: for index in bytes.indices { bytes[index] = .random(in: 0...255) }
  case .noClock: clear(44..<60)
  case .noSegments: clear(128..<136, 152..<160)
  case .noRoundTrip: clear(148..<152)
  }
  return result
}

struct SandboxTests {
  @Test(
    .needs(.program), .serialized,
    arguments: Extent.isExtensive ? KernelAnswer.allCases : [.honest, .zeros, .stateAndTimes, .noClock])
  func `what the kernel does not know is absent`(answer: KernelAnswer) async throws {
    try ExitValues.give("SandboxTests", answer)
    await #expect(processExitsWith: .success) {
      try await Self.run(ExitValues.take("SandboxTests", KernelAnswer.self))
    }
  }

  private static func run(_ answer: KernelAnswer) async throws {
    KernelAnswer.current.store(answer.rawValue, ordering: .relaxed)
    let (held, letGo) = (Gate(), Gate())
    let head = OriginStep.text("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n")
    let origin = try Origin { request in
      switch request.path {
      case "/download": [head, .think(120), .text("a")]
      case "/pieces": [.think(40), head, .think(40), .text("a")]
      case "/held": [.signal(held), .hold(letGo), .think(60), .response(body: [1])]
      case "/wait": [.response(body: [1])]
      case "/reset": [.reset]
      default: [.think(80), .response(body: [1])]
      }
    }
    let (unknown, reports) = (try Registry().counter("unknown_total", help: "Unknown."), Watched(0))
    var configuration = URLSessionTap.Configuration()
    configuration.unknownConnections = unknown
    configuration.reportDisbelief = { _ in reports.change { $0 += 1 } }
    let (tap, observer) = URLSessionTap.observed(configuration: configuration)
    let base = URLSessionConfiguration.ephemeral
    base.httpMaximumConnectionsPerHost = 1
    // Of a session with older tasks, none is known not to have waited.
    let session = URLSession(configuration: base)
    _ = session.dataTask(with: origin.url())
    tap.install(on: session, client: "test")
    func load(_ path: String, posts: Bool = false) async throws {
      var request = URLRequest(url: origin.url(path))
      if posts { (request.httpMethod, request.httpBody) = ("POST", Data([1, 2, 3])) }
      _ = try await session.data(for: request)
    }
    // Nothing has come by which the kernel could be believed.
    await #expect(throws: URLError.self) { try await load("/reset") }
    for _ in 0..<2 {
      try await load("/download")
      try await load("/work", posts: true)
      try await load("/pieces", posts: true)
      try await load("/")
    }
    session.dataTask(with: origin.url("/held")).resume()
    try await held.wait()
    session.dataTask(with: origin.url("/wait")).resume()
    try await observer.waitForStarts(11)
    letGo.open()
    try await observer.waitForEnds(11)
    for observation in observer.ended { expect(observation, where: answer) }
    expectEqual([TCPInfo.isUsed, configuration.readsConnectionInfo], [!answer.isUseless, !answer.isUseless])
    // Nothing is asked any more of one that is not believed. Garbage may be anything.
    if answer != .garbage {
      expectEqual("\(unknown.value) \(reports.state)", answer.isContradiction ? "3.0 1" : "0.0 0")
    }
    origin.stop()
  }

  /// What is said of a request is right, or absent.
  private static func expect(_ observation: RequestObservation, where answer: KernelAnswer) {
    let (phases, path) = (observation.timings, observation.request.url.split(separator: "/").last ?? "")
    let server = phases[nanoseconds: .processing] ?? phases[nanoseconds: .response]
    func isAtLeast(_ milliseconds: Int64, _ time: Int64?) -> Bool {
      time.map { $0 >= milliseconds * 1_000_000 - TCPInfo.resolution } != false
    }
    let isRight =
      switch path {
      // Two requests of which only one has a connection, and nothing tells of a wait but the kernel and
      // libcurl from 8.6 on, which knows one where the process was late, too.
      case "wait": isAtLeast(60, phases[nanoseconds: .queue])
      // A client that is late to read the first byte takes a part of the body's time for the server's.
      case "download": isAtLeast(120, phases[nanoseconds: .transfer].map { $0 + (server ?? 0) })
      case "work": isAtLeast(80, server)
      default: true
      }
    let isQueueKnown = path == "wait" || Scenario.isCurl("8.6") || phases[.queue] == nil
    #expect(isRight && isQueueKnown && phases[.upload] == nil, "\(path): \(phases)")
    #expect(observation.phaseSum <= observation.elapsed, "\(path): \(phases)")
    // Where nothing was received, no lack of segments contradicts a round trip, which is the kernel's there.
    let isTold = !answer.isUseless && answer != .noRoundTrip || path == "reset" && answer == .noSegments
    #expect(isTold ? observation.networkRoundTrip != .zero : observation.networkRoundTrip == nil)
  }
}

import Foundation
import SessionTap
import TestSupport

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Resumes many tasks at once, of which all but six wait for a connection, and says what that cost.
struct Burst {
  let port: Int
  let count: Int
  /// How long six requests hold the connections before the others get them, in milliseconds.
  let slow: Int
  let isTapped: Bool

  func run() async throws {
    var tap: Tap?
    if isTapped {
      var configuration = Tap.Configuration(environment: [:])
      configuration.endpoint = nil
      tap = try Tap.start(configuration)
    }
    let base = URLSessionConfiguration.ephemeral
    base.timeoutIntervalForRequest = 600
    let session = URLSession(
      configuration: tap?.sessionConfiguration(from: base, client: "burst") ?? base)
    guard let url = URL(string: "http://127.0.0.1:\(port)/sized"),
      let slowURL = URL(string: "http://127.0.0.1:\(port)\(Self.slowPath)\(slow)")
    else { return }
    let (ends, ended) = AsyncStream.makeStream(of: Void.self)
    let (start, before) = (ContinuousClock.now, Self.processorSeconds)
    let slowCount = slow > 0 ? 6 : 0
    for number in 0..<(slowCount + count) {
      session.dataTask(with: number < slowCount ? slowURL : url) { _, _, _ in ended.yield() }.resume()
    }
    var left = slowCount + count
    for await _ in ends {
      left -= 1
      if left == 0 { break }
    }
    await tap?.shutdown()
    let wall = (ContinuousClock.now - start) / .seconds(1)
    print(
      String(
        format: "{\"tapped\":%@,\"count\":%d,\"slow\":%d,\"wall_s\":%.3f,\"cpu_s\":%.3f}",
        isTapped ? "true" : "false", count, slow, wall, Self.processorSeconds - before))
  }

  private static let slowPath = "/slow-for/"

  /// The server's side of the six.
  static func steps(for request: OriginRequest) -> [OriginStep]? {
    guard request.path.hasPrefix(slowPath) else { return nil }
    return [.think(Int(request.path.dropFirst(slowPath.count)) ?? 0), .response(body: [1])]
  }

  private static var processorSeconds: Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}

import Foundation
import SessionTap
import Synchronization
import TestSupport

/// What a random run leaves behind. Written by the process that ran it, for the one that judges it.
struct RandomRunReport: Codable, Sendable {
  var requests: Int
  var cancelledBeforeResume: Int
  var residentBytes: Int
  /// Of a tapped run.
  var lines = 0
  var requestsWithOneLine = 0
  var active = 0.0
  var started = 0.0
  var ended = 0.0
  var liveLoaders = 0
  /// Scrapes while the requests ran, and those whose books did not balance.
  var scrapes = 0
  var unbalancedScrapes = 0

  /// Runs without a tap.
  static func stock(requests: Int, seed: UInt64) async throws -> RandomRunReport {
    let cancelled = try await RandomRun(tap: nil).run(count: requests, seed: seed)
    return RandomRunReport(
      requests: requests, cancelledBeforeResume: cancelled, residentBytes: residentBytes)
  }

  /// Runs with a tap, metrics and a log.
  ///
  /// - Parameters:
  ///   - isScraped: Whether the metrics are read without pause meanwhile, which takes memory too.
  ///   - cancelsEnding: Whether what comes to its end by itself is cancelled too.
  static func tapped(
    requests: Int, seed: UInt64, isScraped: Bool = false, cancelsEnding: Bool = false
  ) async throws -> RandomRunReport {
    let folder = try TemporaryFolder()
    let path = folder("report")
    let registry = Registry()
    let worker = Worker()
    let log = try RequestLog(to: .file(path), configuration: .init(), worker: worker)
    let recorder = try RequestRecorder(registry: registry, consumers: [log], worker: worker)
    let tap = URLSessionTap(recorder: recorder)
    let scrapes = isScraped ? ScrapeWatch { Books(registry.exposition().text).balance } : nil
    let cancelled = try await RandomRun(tap: tap)
      .run(count: requests, seed: seed, cancelsEnding: cancelsEnding)
    let watched = await scrapes?.end()
    // Foundation lets go of a loader after the app has heard of the end.
    let live = try? await Poll.until("no live loader") {
      recorder.requestCount == 0 ? 0 : nil
    }
    recorder.drain()
    await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        log.shutdown(within: .seconds(10))
        continuation.resume()
      }
    }
    var report = RandomRunReport(
      requests: requests, cancelledBeforeResume: cancelled, residentBytes: residentBytes)
    report.liveLoaders = live ?? recorder.requestCount
    let books = Books(registry.exposition().text)
    report.active = books.active
    report.started = books.started
    report.ended = books.ended
    report.scrapes = watched?.scrapes ?? 0
    report.unbalancedScrapes = watched?.unbalanced ?? 0
    try report.readLog(path)
    return report
  }

  private mutating func readLog(_ path: String) throws {
    struct Line: Decodable {
      var url: String
      private enum CodingKeys: String, CodingKey { case url = "url.full" }
    }
    var counts: [Int: Int] = [:]
    for line in try Data(contentsOf: URL(fileURLWithPath: path)).split(separator: UInt8(ascii: "\n")) {
      // The first part of the path is the request's number.
      let parts = try JSONDecoder().decode(Line.self, from: line).url.split(separator: "/")
      counts[parts.count > 2 ? Int(parts[2]) ?? -1 : -1, default: 0] += 1
      lines += 1
    }
    requestsWithOneLine = counts.count { $0.key >= 0 && $0.value == 1 }
  }

  private static var residentBytes: Int {
    let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ")
    return (pages.flatMap { $0.dropFirst().first }.flatMap { Int($0) } ?? 0) * 4_096
  }

  func write(to path: String) throws {
    try JSONEncoder().encode(self).write(to: URL(fileURLWithPath: path))
  }

  private init(requests: Int, cancelledBeforeResume: Int, residentBytes: Int) {
    self.requests = requests
    self.cancelledBeforeResume = cancelledBeforeResume
    self.residentBytes = residentBytes
  }
}

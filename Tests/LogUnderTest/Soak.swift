import TapLog
import TestSupport

/// Numbered lines from many threads, or from one that never waits: what the destination does not take is then
/// dropped and counted. At the end, the account as JSON: `{"given":…,"written":…,"dropped":…}`.
struct Soak {
  let path: String
  let lines: Int
  let threads: Int
  /// Lines a second of all threads together, or as fast as they can.
  let rate: Double?
  /// Where the log moves its own file aside, in bytes.
  var rotationSize: Int?
  /// Whether few lines find room, and none is waited for.
  var starves = false
  /// How long a line may wait for `fsync`.
  var synchronizationInterval: Duration?

  func run() throws {
    var configuration = RequestLog.Configuration()
    configuration.rotation = rotationSize.map { LogRotation(maximumSize: $0, keep: 10_000) }
    if starves { configuration.queueLineLimit = 1_000 }
    configuration.synchronizationInterval = synchronizationInterval
    let log = try RequestLog(to: .file(path), configuration: configuration)
    let pace = rate.map { Pace(perSecond: $0) }
    DispatchQueue.concurrentPerform(iterations: threads) { thread in
      for index in stride(from: thread, to: lines, by: threads) {
        log.log(.info, starves ? "starve" : "soak", ["n": .integer(Int64(index))])
        // None is to be dropped: not more may wait than there is room for.
        if !starves, (index / threads).isMultiple(of: 1_000) { log.flush(within: .seconds(30)) }
        if (index / threads).isMultiple(of: 64) { pace?.wait(for: index) }
      }
    }
    let isWhole = log.shutdown(within: .seconds(60))
    let statistics = log.statistics
    print(
      #"{"given":\#(lines),"written":\#(statistics.lines),"dropped":\#(statistics.droppedLines),"#
        + #""write_errors":\#(statistics.writeErrors),"whole":\#(isWhole)}"#)
  }
}

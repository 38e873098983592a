import Foundation
import TapCore
import TapLog
import TestSupport

/// Numbered lines at a steady rate that never wait: what the destination does not take is dropped and counted.
struct Starve {
  let path: String
  let lines: Int
  let rate: Double

  func run() throws {
    var configuration = RequestLog.Configuration()
    configuration.queueLineLimit = 1_000
    let log = try RequestLog(to: .file(path), configuration: configuration)
    let pace = Pace(perSecond: rate)
    for index in 0..<lines {
      log.log(.info, "starve", ["n": .integer(Int64(index))])
      if index.isMultiple(of: 64) { pace.wait(for: index) }
    }
    let isWhole = log.shutdown(within: .seconds(60))
    let statistics = log.statistics
    print(
      #"{"given":\#(lines),"written":\#(statistics.lines),"dropped":\#(statistics.droppedLines),"#
        + #""write_errors":\#(statistics.writeErrors),"whole":\#(isWhole)}"#)
  }
}

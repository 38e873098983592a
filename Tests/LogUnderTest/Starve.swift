import Foundation
import TapCore
import TapLog

/// Numbered lines at a steady rate that never wait: what the destination does not take is dropped and counted.
struct Starve {
  let path: String
  let lines: Int
  let rate: Double

  func run() throws {
    var configuration = RequestLog.Configuration()
    configuration.queueLineLimit = 1_000
    let log = try RequestLog(to: .file(path), configuration: configuration)
    let start = ContinuousClock.now
    for index in 0..<lines {
      log.log(.info, "starve", ["n": .integer(Int64(index))])
      if index.isMultiple(of: 64) {
        let ahead = start + .seconds(Double(index) / rate) - ContinuousClock.now
        if ahead > .zero { Thread.sleep(forTimeInterval: ahead / .seconds(1)) }
      }
    }
    let isWhole = log.shutdown(within: .seconds(10))
    let statistics = log.statistics
    print(
      #"{"given":\#(lines),"written":\#(statistics.lines),"dropped":\#(statistics.droppedLines),"#
        + #""write_errors":\#(statistics.writeErrors),"whole":\#(isWhole)}"#)
  }
}

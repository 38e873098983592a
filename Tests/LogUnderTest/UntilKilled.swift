import Foundation
import TapCore
import TapLog

/// Numbered lines until the process is killed.
struct UntilKilled {
  let path: String

  func run() throws {
    var configuration = RequestLog.Configuration()
    configuration.whenFull = .block(upTo: .seconds(30))
    let log = try RequestLog(to: .file(path), configuration: configuration)
    var number: Int64 = 0
    while true {
      log.log(.info, "line", ["n": .integer(number)])
      number += 1
      if number == 1_000 { print("running") }
    }
  }
}

import Foundation
import TapCore
import TapLog

/// Numbered lines until the process is killed.
struct UntilKilled {
  let path: String

  func run() throws {
    let log = try RequestLog(to: .file(path))
    var number: Int64 = 0
    while true {
      log.log(.info, "line", ["n": .integer(number)])
      number += 1
      if number % 4_096 == 0 { log.flush(within: .seconds(30)) }
      if number == 1_000 { print("running") }
    }
  }
}

import Foundation
import TapCore
import TapLog

/// A log in a process of its own, for the checks that kill, starve or outlast one. See the scripts that call
/// it.
///
///     log-under-test soak PATH LINES THREADS [PER-SECOND]
///                                                   numbered lines, none lost but what is counted
///     log-under-test fuzz LINES SEED                random observations, to standard output
///     log-under-test until-killed PATH              numbered lines for ever
///     log-under-test starve PATH LINES PER-SECOND   numbered lines that never wait
///     log-under-test synchronize PATH LINES ROTATION-SIZE
///                                                   numbered lines that a loss of power leaves on the disk
///     log-under-test examples PATH                  a few lines of every kind
let arguments = Array(CommandLine.arguments.dropFirst())
switch (arguments.first, arguments.count) {
case ("soak", 4...5):
  let (lines, threads) = (Int(arguments[2]) ?? 0, max(1, Int(arguments[3]) ?? 1))
  let rate = arguments.count > 4 ? Double(arguments[4]) : nil
  try Soak(path: arguments[1], lines: lines, threads: threads, rate: rate).run()
case ("fuzz", 3): try Fuzz(lines: Int(arguments[1]) ?? 0, seed: UInt64(arguments[2]) ?? 0).run()
case ("until-killed", 2):
  let log = try RequestLog(to: .file(arguments[1]))
  for number in 0..<Int64.max {
    log.log(.info, "line", ["n": .integer(number)])
    if number % 4_096 == 4_095 { log.flush(within: .seconds(30)) }
  }
case ("starve", 4):
  try Soak(
    path: arguments[1], lines: Int(arguments[2]) ?? 0, threads: 1, rate: Double(arguments[3]) ?? 1,
    starves: true
  ).run()
case ("synchronize", 4):
  try Soak(
    path: arguments[1], lines: Int(arguments[2]) ?? 0, threads: 1, rate: 20_000,
    rotationSize: Int(arguments[3]), synchronizationInterval: .seconds(60)
  ).run()
case ("examples", 2): try Examples(path: arguments[1]).run()
default:
  FileHandle.standardError.write(Data("usage: see main.swift\n".utf8))
  exit(64)
}

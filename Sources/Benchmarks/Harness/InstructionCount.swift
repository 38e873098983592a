import Foundation

/// Instructions of one operation, as `valgrind --tool=callgrind` counts them: the same in every run, however noisy the
/// machine.
enum InstructionCount {
  struct Failure: Error, CustomStringConvertible {
    var description: String { "valgrind did not count" }
  }

  /// Where valgrind is, if it is installed.
  static let valgrind = ["/usr/bin/valgrind", "/usr/local/bin/valgrind"].first {
    FileManager.default.isExecutableFile(atPath: $0)
  }

  /// What `count` repetitions take more than none, for each.
  static func perOperation(_ loop: InstructionLoop, count: Int) throws -> Double {
    Double(try total(loop, count: count) - (try total(loop, count: 0))) / Double(count)
  }

  private static func total(_ loop: InstructionLoop, count: Int) throws -> Int {
    guard let valgrind, let program = Bundle.main.executablePath else { throw Failure() }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: valgrind)
    process.arguments = [
      "--tool=callgrind", "--callgrind-out-file=/dev/null", program, "--loop", loop.rawValue, "\(count)",
    ]
    let output = Pipe()
    process.standardError = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    let line = text.split(separator: "\n").last { $0.contains("Collected :") }
    guard let count = line?.split(separator: " ").last.flatMap({ Int($0) }) else { throw Failure() }
    return count
  }
}

import Foundation

/// Heap allocations of one operation, as `valgrind --tool=memcheck` counts the calls of `malloc` and its kin: in all
/// threads, in all libraries, with nothing put between them and the program that is measured.
enum AllocationCount {
  struct Failure: Error, CustomStringConvertible {
    var description: String { "valgrind did not count" }
  }

  /// What `count` repetitions allocate more than none, for each.
  static func perOperation(_ loop: InstructionLoop, count: Int) throws -> Double {
    Double(try total(loop, count: count) - (try total(loop, count: 0))) / Double(count)
  }

  private static func total(_ loop: InstructionLoop, count: Int) throws -> Int {
    guard let valgrind = InstructionCount.valgrind, let program = Bundle.main.executablePath else {
      throw Failure()
    }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: valgrind)
    process.arguments = [
      "--tool=memcheck", "--leak-check=no", "--undef-value-errors=no", program, "--loop", loop.rawValue,
      "\(count)",
    ]
    let output = Pipe()
    process.standardError = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    // total heap usage: 1,234 allocs, 1,000 frees, 99,999 bytes allocated
    guard process.terminationStatus == 0,
      let line = text.split(separator: "\n").last(where: { $0.contains("total heap usage:") }),
      let figure = line.components(separatedBy: "usage:").last?.components(separatedBy: "allocs").first,
      let allocations = Int(figure.filter(\.isNumber))
    else { throw Failure() }
    return allocations
  }
}

import Foundation
import SessionTap
import TapTesting

extension Benchmark {
  /// The time of a test's tap with a session, after many: the last of 4,000 beside the first.
  static let tapsLast = shortTaps("taps.last", unit: "µs", \.mean)
  /// The same by the median. Beside other load, a tap now and then waits as long for a processor as ten
  /// others take.
  static let tapsLastMedian = shortTaps("taps.last.median", unit: "µs", \.median)
  /// The same in processor time, of all threads.
  static let tapsLastProcessor = shortTaps("taps.last.processor", unit: "µs", \.processor)
  /// The resident memory of the process behind them.
  static let tapsResident = shortTaps("taps.resident", unit: "MB", \.resident)
  /// The heap memory that a tap leaves behind, with a session that is kept; beside such a session without a
  /// tap.
  static let tapsLeft = Benchmark(
    "taps.left", unit: "B", reference: "a session without a tap", rounds: 3,
    value: { try ShortTaps.measured(in: .keptTaps).bytesEach },
    referenceValue: { try ShortTaps.measured(in: .keptSessions).bytesEach })

  private static func shortTaps(
    _ name: String, unit: String, _ figure: @escaping @Sendable (ShortTaps.Figures) -> Double
  ) -> Benchmark {
    Benchmark(name, unit: unit, reference: "the first 300 of 4,000", rounds: 5) {
      let taps = try ShortTaps.measured(in: .shortTaps)
      return (figure(taps.last), figure(taps.first))
    }
  }
}

/// Taps that come and go in a process, each ended before the next: the first beside the last.
struct ShortTaps: Codable {
  struct Figures: Codable {
    /// Microseconds.
    let mean: Double
    let median: Double
    /// Microseconds of processor time, the mean.
    let processor: Double
    /// MB behind the last of them.
    let resident: Double
  }

  struct Failure: Error, CustomStringConvertible {
    var description: String { "the process that makes the taps did not say what it measured" }
  }

  private static let count = 4_000
  /// What is compared at the begin and at the end.
  private static let group = 300
  /// The first taps of a process load code, which takes a thousand times as long.
  private static let warmup = 10

  let first: Figures
  let last: Figures
  /// The bytes of the heap that each has left, behind the first.
  let bytesEach: Double

  /// Measures in a new process, since a process has its first taps once.
  static func measured(in loop: Valgrind.Loop) throws -> ShortTaps {
    guard let program = Bundle.main.executablePath else { throw Failure() }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = ["--loop", loop.rawValue, "\(count)"]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let text = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw Failure() }
    return try JSONDecoder().decode(ShortTaps.self, from: text)
  }

  /// Makes them, and writes the figures to standard output. What is returned of each is kept.
  static func run(_ count: Int, _ make: () async throws -> URLSession?) async throws {
    var kept: [URLSession?] = []
    kept.reserveCapacity(warmup + count)
    func measure(_ count: Int) async throws -> Figures {
      var times: [Double] = []
      let processor = Stopwatch.processorSeconds
      for _ in 0..<count {
        let start = ContinuousClock.now
        kept.append(try await make())
        times.append((ContinuousClock.now - start) / .microseconds(1))
      }
      let used = (Stopwatch.processorSeconds - processor) * 1e6
      return Figures(
        mean: times.reduce(0, +) / Double(count), median: times.sorted()[count / 2],
        processor: used / Double(count), resident: try Heap.residentBytes() / 1e6)
    }
    _ = try await measure(warmup)
    let first = try await measure(group)
    let before = try Heap.bytesInUse()
    _ = try await measure(max(1, count - 2 * group))
    let last = try await measure(group)
    let bytes = Double(try Heap.bytesInUse() - before)
    let taps = ShortTaps(first: first, last: last, bytesEach: bytes / Double(max(1, count - group)))
    FileHandle.standardOutput.write(try JSONEncoder().encode(taps))
    withExtendedLifetime(kept) {}
  }

  /// A tap as a test of an app has it.
  static func makeTap() async throws -> URLSession {
    let tap = try Tap.testing()
    let session = tap.session(client: "short")
    await tap.shutdown()
    return session
  }
}

import Foundation
import SessionTap

/// Counts what one operation costs, by running this program under valgrind: the same in every run, however
/// noisy the machine. Requests are answered by this process, which is not counted.
enum Valgrind {
  struct Failure: Error, CustomStringConvertible {
    var description: String { "valgrind did not count" }
  }

  static var isInstalled: Bool { path != nil }

  private static let path = ["/usr/bin/valgrind", "/usr/local/bin/valgrind"].first {
    FileManager.default.isExecutableFile(atPath: $0)
  }

  /// The instructions of one operation, as `--tool=callgrind` counts them, in all threads.
  static func instructions(of loop: Loop, count: Int, after first: Int = 0) async throws -> Double {
    try await perOperation(count, after: first) { count in
      // Collected : 1234567
      let lines = try await run(["--tool=callgrind", "--callgrind-out-file=/dev/null"], loop, count)
      return lines.last { $0.contains("Collected :") }?.split(separator: " ").last.flatMap { Int($0) }
    }
  }

  /// The heap allocations of one operation, as `--tool=memcheck` counts the calls of `malloc` and its
  /// relatives: in all threads and libraries.
  static func allocations(of loop: Loop, count: Int, after first: Int) async throws -> Double {
    try await perOperation(count, after: first) { count in
      // total heap usage: 1,234 allocs, 1,000 frees, 99,999 bytes allocated
      let lines = try await run(
        ["--tool=memcheck", "--leak-check=no", "--undef-value-errors=no"], loop, count)
      let line = lines.last { $0.contains("total heap usage:") }
      let figure = line?.components(separatedBy: "usage:").last?.components(separatedBy: "allocs").first
      return figure.flatMap { Int($0.filter(\.isNumber)) }
    }
  }

  /// What each of `count` repetitions takes after the first ones.
  private static func perOperation(
    _ count: Int, after first: Int, _ total: (Int) async throws -> Int?
  ) async throws -> Double {
    guard let all = try await total(first + count), let beginning = try await total(first) else {
      throw Failure()
    }
    return Double(all - beginning) / Double(count)
  }

  private static func run(_ options: [String], _ loop: Loop, _ count: Int) async throws -> [Substring] {
    guard let path, let program = Bundle.main.executablePath else { throw Failure() }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = options + [program, "--loop", loop.rawValue, "\(count)"]
    if loop.makesRequests { process.arguments?.append(try await LoopbackTransfers.shared.origin()) }
    let output = Pipe()
    process.standardError = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw Failure() }
    return text.split(separator: "\n")
  }

  /// An operation that this program repeats under valgrind: `--loop NAME COUNT [ORIGIN]`.
  enum Loop: String {
    case mutex
    case record
    case exposition
    case memcpy
    case drain
    case stockRequests
    case tappedRequests
    case tracedRequests
    case servedRequests

    var makesRequests: Bool { [.stockRequests, .tappedRequests, .tracedRequests].contains(self) }

    func run(_ count: Int, origin: String?) async throws {
      if let origin { await LoopbackTransfers.shared.use(origin) }
      switch self {
      case .mutex: UncontendedMutex.add(Samples.durations, count)
      case .record:
        let (histogram, samples) = (try Registry().histogram("duration_seconds", help: ""), Samples.durations)
        for value in samples { histogram.record(value) }
        for index in 0..<count { histogram.record(samples[index & 65_535]) }
      case .exposition:
        let registry = try SeriesFixture.make(seriesCount: 1_000)
        for _ in 0...count { _ = registry.exposition() }
      case .drain: try DrainedRequests().record(count)
      case .stockRequests:
        try await LoopbackTransfers.shared.get(count, by: .stock)
      case .tappedRequests:
        try await LoopbackTransfers.shared.get(count, by: .tapped)
      case .tracedRequests:
        try await LoopbackTransfers.shared.get(count, by: .stock, isTraced: true)
      case .servedRequests:
        try await LoopbackTransfers.shared.serve(count)
      case .memcpy:
        let source = try SeriesFixture.make(seriesCount: 1_000).exposition().body
        var target = source
        for _ in 0..<count {
          target.withUnsafeMutableBytes { target in source.withUnsafeBytes { target.copyMemory(from: $0) } }
        }
      }
    }
  }
}

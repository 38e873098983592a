import Foundation

/// The command line: `session-tap-benchmarks [--json] [--filter PREFIX] [--list]`.
enum BenchmarkCommand {
  private static let usage = "usage: session-tap-benchmarks [--json] [--filter PREFIX] [--list]"

  /// Runs what the arguments ask for and gives the exit status: 0, 64 for bad usage (sysexits.h), 1 if a
  /// benchmark failed.
  static func run(_ arguments: [String]) async -> Int32 {
    var isJSON = false
    var isList = false
    var prefix = ""
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      switch argument {
      case "--json": isJSON = true
      case "--list": isList = true
      case "--filter":
        guard let value = rest.popFirst() else { return fail("--filter needs a prefix; " + usage, 64) }
        prefix = value
      case "--loop":
        guard let loop = rest.popFirst().flatMap(Valgrind.Loop.init),
          let count = rest.popFirst().flatMap({ Int($0) }),
          count >= 0
        else { return fail("--loop needs a name and a count", 64) }
        return (try? await loop.run(count, origin: rest.first)) == nil ? 1 : 0
      case "--help":
        print(usage)
        return 0
      default: return fail("unknown argument '\(argument)'; " + usage, 64)
      }
    }
    let chosen = Benchmark.all.filter { $0.name.hasPrefix(prefix) }
    guard !chosen.isEmpty else { return fail("no benchmark begins with '\(prefix)'; see --list", 64) }
    if isList {
      for benchmark in chosen { print(benchmark.name) }
      return 0
    }
    return await run(chosen, isJSON: isJSON)
  }

  private static func run(_ benchmarks: [Benchmark], isJSON: Bool) async -> Int32 {
    var status: Int32 = 0
    if !isJSON { print(BenchmarkResult.header) }
    for benchmark in benchmarks {
      guard benchmark.isUsable else {
        _ = fail("\(benchmark.name) is left out: what it needs is not installed", 0)
        continue
      }
      do {
        let result = try await benchmark.run()
        print(isJSON ? result.json : result.row)
        fflush(nil)
      } catch {
        status = fail("\(benchmark.name): \(error)", 1)
      }
    }
    return status
  }

  private static func fail(_ reason: String, _ status: Int32) -> Int32 {
    FileHandle.standardError.write(Data("session-tap-benchmarks: \(reason)\n".utf8))
    return status
  }
}

extension Benchmark {
  /// In the order in which they run.
  static let all: [Benchmark] = [
    .histogramRecordOneThread,
    .histogramRecordAllThreads,
    .histogramRecordInstructions,
    .requestTappedC1,
    .requestBlackBoxC1,
    .requestTappedC8, .requestTappedBurst, .requestTappedDescriptorsC1, .requestTappedDescriptorsC16,
    .downloadTapped,
    .requestAllocations,
    .requestInstructions, .requestTraceInstructions, .requestDrainInstructions,
    .blackBoxSlot,
    .accountRead, .connectionRead, .carriedTrace,
    .observationRecord,
    .observationP99UnderAttack,
    .inboundRecord,
    .recordP99UnderScrape,
    .seriesBytes,
    .expositionText1000,
    .expositionTextInstructions,
    .expositionScaling,
    .reports, .reportsScrape,
    .logEncode,
    .logEnqueue,
    .logThroughput,
  ]
}

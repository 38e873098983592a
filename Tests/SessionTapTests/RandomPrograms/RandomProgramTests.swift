import TestSupport

/// Random programs over the public API, compared with a model that knows what each tap must have counted.
///
/// `Tests/Scripts/run-random-programs` runs more of them. To find one again, give it the seed.
@Suite(.needs(.processor)) struct RandomProgramTests {
  private static let count = number("RANDOM_PROGRAMS") ?? UInt64(Extent.of(6, extensive: 50))
  private static let firstSeed = number("RANDOM_PROGRAMS_FIRST_SEED") ?? 1
  /// In one process: what the process keeps of each tap stays small.
  private static let batchSize: UInt64 = 100
  /// How long one program may take before the process is ended.
  private static let secondsPerProgram: UInt32 = 120
  /// After so many failures the rest tells nothing new.
  private static let failureLimit = 10

  private static func number(_ variable: String) -> UInt64? {
    ProcessInfo.processInfo.environment[variable].flatMap { UInt64($0) }
  }

  /// In processes of their own. Each writes down a seed before its program runs, so that the one that ends
  /// the process is known, and ends after the first one that fails: what it leaves behind may disturb the
  /// next.
  @Test func `what the taps count is what the model says`() async throws {
    let (folder, end) = (try TemporaryFolder(), Self.firstSeed + Self.count)
    var (next, failures) = (Self.firstSeed, 0)
    while next < end, failures < Self.failureLimit {
      let batchEnd = min(next + Self.batchSize, end)
      try ExitValues.give("RandomPrograms", folder("seed"), next, batchEnd)
      let result = await #expect(processExitsWith: .success) {
        let (path, first, end) = try ExitValues.take("RandomPrograms", String.self, UInt64.self, UInt64.self)
        for seed in first..<end {
          // Where a lock is held for ever, no deadline of the program's own is noticed.
          alarm(Self.secondsPerProgram)
          try "\(seed)".write(toFile: path, atomically: true, encoding: .utf8)
          let program = ProgramGenerator.program(seed: seed)
          let findings = try await ProgramRunner.findings(program)
          if findings.isEmpty { continue }
          Issue.record("\(findings.joined(separator: "\n"))\n\(program)")
          return
        }
      }
      let last = try #require(UInt64(folder.text("seed")))
      if result == nil {
        Issue.record("the process ended, or hung, in \(ProgramGenerator.program(seed: last))")
      }
      if result == nil || last + 1 < batchEnd { failures += 1 }
      next = last + 1
      print("\(next - Self.firstSeed) of \(Self.count) random programs, \(failures) failed")
      fflush(nil)
    }
  }
}

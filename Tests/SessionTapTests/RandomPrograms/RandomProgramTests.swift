import TestSupport

/// Random programs over the public API, compared with a model that knows what each tap must have counted.
///
/// `Tests/Scripts/run-random-programs` runs more of them. To find one again, give it the seed.
@Suite(.needs(.processor)) struct RandomProgramTests {
  private static let count = number("RANDOM_PROGRAMS") ?? UInt64(Extent.of(6, extensive: 50))
  private static let firstSeed = number("RANDOM_PROGRAMS_FIRST_SEED") ?? 1
  /// In one process: what the process keeps of each tap stays small.
  private static let batchSize: UInt64 = 100
  /// After so many failures the rest tells nothing new.
  private static let failureLimit = 10

  private static func number(_ variable: String) -> UInt64? {
    ProcessInfo.processInfo.environment[variable].flatMap { UInt64($0) }
  }

  @Test func `what the taps count is what the model says`() async throws {
    let end = Self.firstSeed + Self.count
    var (next, failures) = (Self.firstSeed, 0)
    while next < end, failures < Self.failureLimit {
      let (last, failure) = try await run(next..<min(next + Self.batchSize, end))
      if let failure {
        failures += 1
        Issue.record("\(failure)")
      }
      next = last + 1
      print("\(next - Self.firstSeed) of \(Self.count) random programs, \(failures) failed")
      fflush(nil)
    }
  }

  /// Runs programs in a process of their own until one fails.
  private func run(_ seeds: Range<UInt64>) async throws -> (last: UInt64, failure: String?) {
    let folder = try TemporaryFolder()
    let path = folder("report")
    try ExitValues.give("RandomPrograms", path, seeds.lowerBound, seeds.upperBound)
    let result = await #expect(processExitsWith: .success) {
      let (path, first, end) = try ExitValues.take("RandomPrograms", String.self, UInt64.self, UInt64.self)
      try await ProgramBatch.run(first..<end, notes: path)
    }
    let note = try #require(ProgramBatch.notes(path).last)
    guard result == nil else { return (note.seed, note.failure) }
    let program = ProgramGenerator.program(seed: note.seed)
    return (note.seed, "seed \(note.seed) ended the process, or hung it:\n\(program)")
  }

  @Test func `a seed makes the same program each time, and each program makes sense`() {
    for seed in 1...UInt64(Extent.of(30, extensive: 200)) {
      let program = ProgramGenerator.program(seed: seed)
      #expect(program.description == ProgramGenerator.program(seed: seed).description)
      var model = ProgramModel()
      for step in program.steps {
        #expect(model.allows(step), "\(step) in \(program)")
        model.take(step)
      }
    }
  }

  /// What was found by luck before there were random programs: each of them makes it again and again.
  @Test func `programs do what has been wrong before`() {
    var counts = (patchedAgain: 0, uninstalledBeside: 0, schemelessForTwo: 0, runAfterEnd: 0, endOfRun: 0)
    let programs = UInt64(Extent.of(90, extensive: 300))
    for seed in 1...programs {
      var model = ProgramModel()
      for step in ProgramGenerator.program(seed: seed).steps {
        switch step {
        case .install(let tap, let session, _):
          // Behind another one's class, or so it was.
          let clients = model.sessions[session]?.clients ?? [:]
          if clients[tap] != nil, clients.count > 1 { counts.patchedAgain += 1 }
        case .patch(_, let tap, .configuration(let source), _):
          let clients = model.configurations[source] ?? [:]
          if clients[tap] != nil, clients.count > 1 { counts.patchedAgain += 1 }
        case .uninstall(let tap, let session):
          let clients = model.sessions[session]?.clients ?? [:]
          if clients[tap] != nil, clients.count > 1 { counts.uninstalledBeside += 1 }
        case .request(let request) where request.target == .schemeless:
          if model.sessions[request.session]?.clients.count ?? 0 > 1 { counts.schemelessForTwo += 1 }
        default: break
        }
        model.take(step)
      }
      counts.runAfterEnd += model.runs.values.count { $0.outcome == .fails }
      counts.endOfRun += model.runs.values.count { $0.waits && model.taps[$0.tap]?.phases == [.stopped] }
    }
    print("in \(programs) random programs: \(counts)")
    let all = [
      counts.patchedAgain, counts.uninstalledBeside, counts.schemelessForTwo, counts.runAfterEnd,
      counts.endOfRun,
    ]
    #expect(all.allSatisfy { $0 > Extent.of(3, extensive: 20) })
  }
}

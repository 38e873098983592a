import TestSupport

/// Every public setting that takes a number, a `Duration`, a text or a list, at the extremes of its type: a
/// typed error, or a tap that works. The trials have a process of their own, which writes down what it is
/// about to try: what ends the process, or holds it up, names itself, and the next process goes on behind it.
@Suite(.needs(.processor)) struct ExtremesTests {
  /// For what hangs: no trial takes seconds, but the machine may be busy.
  private static let limit: UInt32 = 240

  @Test func `a tap refuses an extreme with a typed error, or works with it`() async throws {
    let folder = try TemporaryFolder()
    let report = folder("report")
    let trials = ExtremeTrial.all
    var next = (trial: 0, step: 0)
    while true {
      try ExitValues.give("ExtremesTests", report, next.trial, next.step)
      await #expect(processExitsWith: .success) {
        let (report, trial, step) = try ExitValues.take("ExtremesTests", String.self, Int.self, Int.self)
        try await Self.walk(from: trial, step, reportingTo: report)
      }
      var last: (trial: Int, step: Int)?
      var isComplete = false
      for line in try String(contentsOfFile: report, encoding: .utf8).split(separator: "\n") {
        let words = line.split(separator: " ", maxSplits: 2)
        if words.count == 3, words[0] == "try", let trial = Int(words[1]), let step = Int(words[2]) {
          last = (trial, step)
        } else if line == "complete" {
          isComplete = true
        } else {
          Issue.record("\(line)")
        }
      }
      if isComplete { break }
      let (trial, step) = try #require(last, "the process ended before it began")
      let end = try String(contentsOfFile: report + ".stderr", encoding: .utf8)
      Issue.record(
        "\(trials[trial].setting) = \(trials[trial].steps[step].value): the process ended \(end.suffix(999))")
      next = step + 1 < trials[trial].steps.count ? (trial, step + 1) : (trial + 1, 0)
    }
  }

  @Test func `no public setting is forgotten`() throws {
    let walked = Set(ExtremeTrial.all.map(\.setting))
    let settings = try PublicSettings()
    let missing = settings.names.subtracting(walked).subtracting(PublicSettings.exclusions.keys)
    #expect(missing.isEmpty, "without a trial at their extremes: \(missing.sorted())")
    let unknown = walked.union(PublicSettings.exclusions.keys).subtracting(settings.names)
    #expect(unknown.isEmpty, "not in Tests/PublicAPI: \(unknown.sorted())")
  }

  /// The trials from one on, one after another in this process.
  private static func walk(from first: Int, _ firstStep: Int, reportingTo path: String) async throws {
    let manager = FileManager.default
    for path in [path, path + ".stderr"] { _ = manager.createFile(atPath: path, contents: nil) }
    let report = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    // Where the runtime says why it ends the process.
    dup2(try FileHandle(forWritingTo: URL(fileURLWithPath: path + ".stderr")).fileDescriptor, 2)
    func write(_ line: String) { try? report.write(contentsOf: Data((line + "\n").utf8)) }
    let origin = try RunningExtreme.makeOrigin()
    for (index, trial) in ExtremeTrial.all.enumerated().dropFirst(first) {
      // Its own: a log goes on compressing files behind its shutdown, and a folder out of which files are
      // moved cannot be removed.
      let folder = "\(path).folder/\(index)-\(index == first ? firstStep : 0)"
      try manager.createDirectory(atPath: folder, withIntermediateDirectories: true)
      guard chdir(folder) == 0 else { throw POSIXError(.ENOENT) }
      let walk = ExtremeWalk(
        origin: origin,
        willTry: { step in
          write("try \(index) \(step)")
          alarm(limit)
        },
        report: { fault, step in
          let line = "\(trial.setting) = \(trial.steps[step].value): \(fault.prefix(500))"
          write(String(line.map { $0.isNewline ? " " : $0 }))
        })
      await walk.run(trial, from: index == first ? firstStep : 0)
    }
    write("complete")
    origin.stop()
  }
}

import TestSupport

/// Random programs with the seeds of a range, in a process of their own. It writes down each seed before its
/// program runs, so that the one that ends the process is known.
enum ProgramBatch {
  struct Note: Codable {
    let seed: UInt64
    /// What is not as it must be, with the program. `nil` before it runs.
    var failure: String?
  }

  /// How long one program may take before the process is ended.
  private static let secondsPerProgram: UInt32 = 120

  /// Runs the programs. Ends after the first one that fails: what it leaves behind may disturb the next.
  static func run(_ seeds: Range<UInt64>, notes path: String) async throws {
    try Data().write(to: URL(fileURLWithPath: path))
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    func write(_ note: Note) throws { try file.write(contentsOf: JSONEncoder().encode(note) + "\n".utf8) }
    for seed in seeds {
      // Where a lock is held for ever, no deadline of the program's own is noticed.
      alarm(secondsPerProgram)
      try write(Note(seed: seed))
      let program = ProgramGenerator.program(seed: seed)
      let findings = try await ProgramRunner.findings(program)
      if findings.isEmpty { continue }
      return try write(Note(seed: seed, failure: "\(findings.joined(separator: "\n"))\n\(program)"))
    }
  }

  /// The notes of a process, be it one that did not come to its end.
  static func notes(_ path: String) throws -> [Note] {
    try Data(contentsOf: URL(fileURLWithPath: path)).split(separator: UInt8(ascii: "\n")).map {
      try JSONDecoder().decode(Note.self, from: Data($0))
    }
  }
}

import Foundation
import TestSupport

/// The trials of a group, one after another in this process.
struct ExtremeRun {
  /// What a run has written down.
  struct Report {
    /// The trial that was under way when the process ended.
    private(set) var unfinished: Int?
    private(set) var faults: [String] = []
    private(set) var isComplete = false

    init(path: String) throws {
      for line in try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n") {
        if line == "complete" {
          isComplete = true
          unfinished = nil
        } else if line.hasPrefix("try ") {
          unfinished = Int(line.dropFirst(4))
        } else {
          faults.append(String(line))
        }
      }
    }
  }

  /// A trial that takes longer than this ends the process, and so names itself.
  private static let limit: UInt32 = 60

  /// What a run leaves beside its report.
  static let suffixes = [".stderr", ".folder"]

  private let group: ExtremeGroup
  private let folder: String
  private let report: FileHandle

  init(_ group: ExtremeGroup, reportingTo path: String) throws {
    self.group = group
    folder = path + ".folder"
    let manager = FileManager.default
    for path in [path, path + ".stderr"] { _ = manager.createFile(atPath: path, contents: nil) }
    report = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    // Where the runtime says why it ends the process.
    dup2(try FileHandle(forWritingTo: URL(fileURLWithPath: path + ".stderr")).fileDescriptor, 2)
  }

  func run(from first: Int) async throws {
    let manager = FileManager.default
    let origin = try ExtremeTrial.makeOrigin()
    let extremes = group.extremes
    for (index, extreme) in extremes.enumerated().dropFirst(first) {
      try write("try \(index)")
      // What the trial before has left there, or a process that it ended.
      try? manager.removeItem(atPath: folder)
      try manager.createDirectory(atPath: folder, withIntermediateDirectories: true)
      guard chdir(folder) == 0 else { throw POSIXError(.ENOENT) }
      alarm(Self.limit)
      for fault in await ExtremeTrial.run(extreme, origin) {
        try write("\(extreme.setting) = \(extreme.value): \(fault.prefix(500))")
      }
    }
    try write("complete")
    alarm(0)
    origin.stop()
  }

  private func write(_ line: String) throws {
    let line = line.map { $0.isNewline ? " " : $0 }
    try report.write(contentsOf: Data((String(line) + "\n").utf8))
  }
}

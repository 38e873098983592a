import TestSupport

@testable import TapLog

/// A folder with a log's file in it, `requests.jsonl`, without the log's queue and thread: what is written is
/// in the file when the call returns.
final class LogFolder {
  let folder: TemporaryFolder
  let path: String
  let faults = LogFaults(of: "under test", isQuiet: true)
  var output: FileOutput

  /// - Parameters:
  ///   - name: The path in the folder.
  ///   - prepare: Makes what is there before the log.
  init(
    _ name: String = "requests.jsonl", rotation: LogRotation? = nil, synchronizationInterval: Duration? = nil,
    prepare: (TemporaryFolder) throws -> Void = { _ in }
  ) throws {
    folder = try TemporaryFolder()
    path = name.hasPrefix("/") ? name : folder(name)
    try prepare(folder)
    var configuration = RequestLog.Configuration()
    configuration.rotation = rotation
    configuration.synchronizationInterval = synchronizationInterval
    output = try FileOutput(path, configuration, faults)
  }

  deinit { output.close() }

  /// Writes lines one by one, each of which gets its newline.
  func write(_ lines: String...) throws {
    for line in lines {
      var batch = LineBuffer(line + "\n")
      _ = try attempt(&batch)
      #expect(batch.isEmpty)
    }
  }

  /// Writes what one call takes, once the output is not busy.
  func attempt(_ batch: inout LineBuffer) throws -> LogOutputResult {
    let deadline = Deadline()
    while true {
      let result = output.write(&batch)
      guard case .busy = result.state else { return result }
      try deadline.check("room for lines")
    }
  }

  /// The lines of all files, the oldest of the log's old files first and its own last.
  func files() throws -> [[String]] {
    let names = try folder.names
    return try (names.dropFirst() + names.prefix(1)).map { try folder.lines($0) }
  }

  /// Makes an old file of the log.
  static func oldFile(_ number: Int, in folder: TemporaryFolder, year: Int = 2020) throws -> String {
    let name = "requests.jsonl.\(year)0101T09300\(number).000000Z"
    try folder.write("old\n", to: name)
    return name
  }
}

extension TemporaryFolder {
  /// The names in a folder in it, sorted.
  func names(in subfolder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: self(subfolder)).sorted()
  }

  func makeFolder(_ name: String) throws {
    try FileManager.default.createDirectory(atPath: self(name), withIntermediateDirectories: false)
  }

  func link(_ name: String, to target: String) throws {
    try FileManager.default.createSymbolicLink(atPath: self(name), withDestinationPath: target)
  }

  func move(_ name: String, to newName: String) throws {
    try System.rename(self(name), to: self(newName))
  }
}

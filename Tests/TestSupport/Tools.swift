package import Foundation

/// The programs of others that judge what this package writes.
///
/// A test that needs one is left out where it is missing, and says so. With `SESSION_TAP_REQUIRE_TOOLS=1`, as in
/// CI, none is left out, and the test fails.
package enum Tools {
  /// Whether a missing program is a failure.
  package static let areRequired = ProcessInfo.processInfo.environment["SESSION_TAP_REQUIRE_TOOLS"] == "1"

  /// Whether a test with these programs is to run.
  package static func shouldRun(_ names: String...) -> Bool {
    areRequired || names.allSatisfy { path(of: $0) != nil }
  }

  /// Whether a test with this module of Python's is to run.
  package static func shouldRun(pythonModule name: String) -> Bool {
    if areRequired { return true }
    guard path(of: "python3") != nil else { return false }
    return (try? run("python3", ["-c", "import \(name)"]))?.status == 0
  }

  /// Where a program is, by `PATH`.
  package static func path(of name: String) -> String? {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    return folders.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  /// Runs a program to its end with this input.
  @discardableResult
  package static func run(
    _ name: String, _ arguments: [String], input: Data = Data()
  ) throws -> (status: Int32, output: String) {
    guard let path = path(of: name) else { throw MissingTool(name: name) }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = arguments
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    // Files and not pipes: nobody has to read and write at the same time.
    let inputFile = folder.appendingPathComponent("input")
    let outputFile = folder.appendingPathComponent("output")
    try input.write(to: inputFile)
    try Data().write(to: outputFile)
    let output = try FileHandle(forWritingTo: outputFile)
    process.standardInput = try FileHandle(forReadingFrom: inputFile)
    process.standardOutput = output
    process.standardError = output
    try process.run()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: try Data(contentsOf: outputFile), as: UTF8.self))
  }
}

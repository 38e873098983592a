package import Foundation
import Synchronization

/// An external program that a test runs.
///
/// Tests that need one are skipped where it is missing, unless `SESSION_TAP_REQUIRE_TOOLS` is `1`:
///
///     @Test(.enabled(if: Tool.isUsable("promtool"), "promtool is not installed"))
package struct Tool: Sendable {
  /// The path of the program.
  package let url: URL

  /// Looks a program up in `PATH`.
  package init(_ name: String) throws {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    let found = path.split(separator: ":").map { "\($0)/\(name)" }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
    guard let found else { throw Missing(name: name) }
    url = URL(fileURLWithPath: found)
  }

  /// Whether tests with this program run: it is installed, or required.
  package static func isUsable(_ name: String) -> Bool {
    isRequired || (try? Tool(name)) != nil
  }

  /// Whether tests with this Python package run.
  package static func isUsable(python package: String) -> Bool {
    isRequired
      || (try? Tool("python3").runBlocking(["-c", "import \(package)"], input: [], seconds: 60).status) == 0
  }

  /// Tools must not be missing here.
  package static var isRequired: Bool {
    ProcessInfo.processInfo.environment["SESSION_TAP_REQUIRE_TOOLS"] == "1"
  }

  /// Runs the program to its end, on a thread of its own: those of Swift's tasks are few, and must not wait.
  package func run(
    _ arguments: [String], input: [UInt8] = [], seconds: Double = 60
  ) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(
          with: Swift.Result { try runBlocking(arguments, input: input, seconds: seconds) })
      }
    }
  }

  /// Input and output go through files, so that neither side waits for the other.
  private func runBlocking(_ arguments: [String], input: [UInt8], seconds: Double) throws -> Result {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let inputURL = folder.appendingPathComponent("input")
    let outputURL = folder.appendingPathComponent("output")
    try Data(input).write(to: inputURL)
    try Data().write(to: outputURL)

    let process = try start(
      arguments, input: FileHandle(forReadingFrom: inputURL), output: FileHandle(forWritingTo: outputURL))
    guard process.ended.waitBlocking(seconds: seconds) else {
      process.stop()
      throw DeadlinePassed(what: "end of \(url.lastPathComponent)", seconds: seconds)
    }
    let output = try Data(contentsOf: outputURL)
    return Result(
      status: process.status, output: String(decoding: output, as: UTF8.self), bytes: Array(output))
  }

  /// Starts the program; standard error goes where the output goes.
  package func start(
    _ arguments: [String], input: FileHandle = .nullDevice, output: FileHandle = .nullDevice
  ) throws -> ToolProcess {
    try ToolProcess(url, arguments, input: input, output: output)
  }

  /// The exit status and the output of a program.
  package struct Result: Sendable {
    package let status: Int32
    package let output: String
    package let bytes: [UInt8]
  }

  /// A program that is not installed.
  package struct Missing: Error, CustomStringConvertible {
    let name: String
    package var description: String { "\(name) is not installed" }
  }
}

/// A program that runs.
package final class ToolProcess: Sendable {
  /// Opened when the program has ended.
  package let ended = Gate()
  private let process: Mutex<Process>

  init(_ url: URL, _ arguments: [String], input: FileHandle, output: FileHandle) throws {
    let process = Process()
    process.executableURL = url
    process.arguments = arguments
    process.standardInput = input
    process.standardOutput = output
    process.standardError = output
    process.terminationHandler = { [ended] _ in ended.open() }
    try process.run()
    self.process = Mutex(process)
  }

  /// The exit status, once ``ended`` is open.
  package var status: Int32 { process.withLock { $0.terminationStatus } }

  /// Asks the program to end.
  package func stop() {
    process.withLock { if $0.isRunning { $0.terminate() } }
  }
}

/// An external program that a test runs.
///
/// Tests that need one are skipped where it is missing. If `TESTS_REQUIRE_TOOLS` is `1`, they fail there; if
/// it is `0`, they are skipped everywhere:
///
///     @Test(.enabled(if: Tool.isUsable("promtool"), "promtool is not installed"))
package struct Tool: Sendable {
  package let url: URL

  /// Looks a program up in `PATH`.
  package init(_ name: String) throws {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    let found = path.split(separator: ":").map { "\($0)/\(name)" }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
    guard let found else { throw TestFailure("\(name) is not installed") }
    url = URL(fileURLWithPath: found)
  }

  /// Whether tests with this program run: it is installed, or required.
  package static func isUsable(_ name: String) -> Bool {
    isRequired || !isRefused && (try? Tool(name)) != nil
  }

  /// Whether tests with this Python package run.
  package static func isUsable(python package: String) async -> Bool {
    if isRequired || isRefused { return isRequired }
    return (try? await Tool("python3").run(["-c", "import \(package)"]).status) == 0
  }

  /// Tools must not be missing here.
  package static var isRequired: Bool { variable == "1" }

  private static var isRefused: Bool { variable == "0" }
  private static var variable: String? { ProcessInfo.processInfo.environment["TESTS_REQUIRE_TOOLS"] }

  /// Runs the program to its end. Standard error goes where the output goes.
  package func run(_ arguments: [String], input: [UInt8] = [], seconds: Double = 120) async throws -> Result {
    // From a file: neither side waits for the other.
    let folder = try TemporaryFolder()
    try Data(input).write(to: URL(fileURLWithPath: folder("input")))
    let process = try ChildProcess(url, arguments, input: folder("input"))
    try await process.waitForEnd(seconds: seconds)
    return Result(status: process.status, output: process.output, bytes: process.bytes)
  }

  /// The exit status and the output of a program.
  package struct Result: Sendable {
    package let status: Int32
    package let output: String
    package let bytes: [UInt8]
  }
}

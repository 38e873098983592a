/// A program that a test starts, watches and ends.
package final class ChildProcess: Sendable {
  private let written = Watched((output: [UInt8](), isOver: false))
  private let process: Process
  package let ended = Gate()
  /// Opened when nothing more will be written, also not by the program's own children.
  private let outputEnded = Gate()

  /// Starts a program. Standard output and standard error are read together.
  package init(
    _ executable: URL, _ arguments: [String], environment: [String: String] = [:],
    input: FileHandle = .nullDevice, folder: String? = nil
  ) throws {
    let process = Process()
    if let folder { process.currentDirectoryURL = URL(fileURLWithPath: folder) }
    process.executableURL = executable
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    let pipe = Pipe()
    process.standardInput = input
    process.standardOutput = pipe
    process.standardError = pipe
    self.process = process
    process.terminationHandler = { [ended] _ in ended.open() }
    try process.run()
    Thread.detachNewThread { [written, outputEnded] in
      while case let data = pipe.fileHandleForReading.availableData, !data.isEmpty {
        written.change { $0.output += data }
      }
      outputEnded.open()
      written.change { $0.isOver = true }
    }
  }

  deinit { stop() }

  /// Starts a program of this package.
  package convenience init(
    product: String, _ arguments: [String], environment: [String: String] = [:], folder: String? = nil
  ) throws {
    let products = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
    try self.init(
      products.appendingPathComponent(product), arguments, environment: environment, folder: folder)
  }

  /// Starts a server in Python that says `port N.` when it listens there.
  package static func python(
    _ script: String, _ arguments: String...
  ) async throws -> (server: ChildProcess, port: String) {
    let server = try ChildProcess(Tool("python3").url, ["-c", script] + arguments)
    try await server.waitForOutput(".\n")
    return (server, String(server.output.prefix { $0 != "." }.dropFirst(5)))
  }

  package var output: String { String(decoding: bytes, as: UTF8.self) }

  package var bytes: [UInt8] { written.state.output }

  package var status: Int32 { process.terminationStatus }

  package var id: Int32 { process.processIdentifier }

  private var name: String { process.executableURL?.lastPathComponent ?? "the program" }

  /// Waits until the program has written this. Throws if it ends without it.
  package func waitForOutput(_ text: String) async throws {
    try await written.wait("'\(text)' in the output of \(name)") { written in
      written.isOver || String(decoding: written.output, as: UTF8.self).contains(text)
    }
    let output = output
    guard output.contains(text) else { throw EndedWithout(text: text, output: output) }
  }

  /// A program that ended without writing what a test waited for.
  package struct EndedWithout: Error, CustomStringConvertible {
    let text: String
    let output: String
    package var description: String { "ended without '\(text)': \(output.suffix(2_000))" }
  }

  /// Asks the program to end.
  package func stop() { if process.isRunning { process.terminate() } }

  package func terminate() async throws {
    stop()
    try await waitForExit()
  }

  /// Sends a signal, unless the program has ended: its id may be another's then.
  package func send(_ signal: Int32) { if process.isRunning { kill(process.processIdentifier, signal) } }

  package func waitForExit(seconds: Double = 120) async throws {
    try await ended.wait(seconds: seconds, "exit of \(name)")
  }

  /// Waits until the program has ended and all of its output is read.
  package func waitForEnd(seconds: Double = 120) async throws {
    try await waitForExit(seconds: seconds)
    try await outputEnded.wait(seconds: seconds, "the end of the output of \(name)")
  }
}

package import Foundation
import Synchronization

/// A program that a test starts, watches and ends.
package final class ChildProcess: Sendable {
  private struct State {
    var output = ""
    var waiting: [(text: String, gate: Gate)] = []
  }

  private let state = Mutex(State())
  private let process: Process
  private let exited = Gate()

  /// Starts a program. Standard output and standard error are read together.
  package init(_ executable: URL, _ arguments: [String], environment: [String: String] = [:]) throws {
    let process = Process()
    process.executableURL = executable
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    let pipe = Pipe()
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = pipe
    process.standardError = pipe
    self.process = process
    process.terminationHandler = { [exited] _ in exited.open() }
    try process.run()
    Thread.detachNewThread { [weak self] in
      while case let data = pipe.fileHandleForReading.availableData, !data.isEmpty {
        self?.append(String(decoding: data, as: UTF8.self))
      }
    }
  }

  deinit {
    if process.isRunning { process.terminate() }
  }

  /// Starts a program of this package.
  package convenience init(product: String, _ arguments: [String]) throws {
    let folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
    try self.init(folder.appendingPathComponent(product), arguments)
  }

  /// The output of the program so far.
  package var output: String { state.withLock { $0.output } }

  /// The status that the program ended with.
  package var status: Int32 { process.terminationStatus }

  /// The program's id.
  package var id: Int32 { process.processIdentifier }

  /// Waits until the program has written this.
  package func waitForOutput(_ text: String) async throws {
    let gate = Gate()
    let isThere = state.withLock { state in
      if state.output.contains(text) { return true }
      state.waiting.append((text, gate))
      return false
    }
    if !isThere { try await gate.wait("'\(text)' in the output of \(process.executableURL?.path ?? "")") }
  }

  /// Asks the program to end, and waits for it.
  package func terminate() async throws {
    process.terminate()
    try await waitForExit()
  }

  /// Sends a signal.
  package func send(_ signal: Int32) {
    kill(process.processIdentifier, signal)
  }

  /// Waits until the program has ended.
  package func waitForExit() async throws {
    try await exited.wait("exit of \(process.executableURL?.path ?? "")")
  }

  private func append(_ text: String) {
    let reached = state.withLock { state in
      state.output += text
      let output = state.output
      defer { state.waiting.removeAll { output.contains($0.text) } }
      return state.waiting.filter { output.contains($0.text) }
    }
    for (_, gate) in reached { gate.open() }
  }
}

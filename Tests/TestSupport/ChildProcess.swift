import TestStart

/// A program that a test starts, watches and ends.
///
/// Foundation's `Process` learns of an end by a socket that any child which is started meanwhile may have
/// too: then only at the end of that one. Until then there is a zombie, on which Swift Testing's thread for
/// exit tests spins.
package final class ChildProcess: Sendable {
  private let written = Watched((output: [UInt8](), isOver: false))
  package let id: Int32
  private let name: String
  /// As waitpid(2) has it, once nothing of the program is left.
  private let result = Watched<Int32?>(nil)
  package let ended = Gate()
  /// Opened when nothing more will be written, also not by the program's own children.
  private let outputEnded = Gate()

  /// Starts a program. Standard output and standard error are read together.
  package init(
    _ executable: URL, _ arguments: [String], environment: [String: String] = [:],
    input: String = "/dev/null", folder: String? = nil
  ) throws {
    let pipe = Pipe()
    let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    let words = ([executable.path] + arguments).map { strdup($0) } + [nil]
    let settings = variables.map { strdup("\($0)=\($1)") } + [nil]
    defer { for text in words + settings { free(text) } }
    let id = start_program(
      executable.path, words, settings, input, pipe.fileHandleForWriting.fileDescriptor, folder)
    guard id > 0 else { throw POSIXError(POSIXErrorCode(rawValue: -id) ?? .EIO) }
    (self.id, name) = (id, executable.lastPathComponent)
    try pipe.fileHandleForWriting.close()
    Thread.detachNewThread { [id, result, ended] in
      var info = siginfo_t()
      while waitid(P_PID, id_t(id), &info, WEXITED | WNOWAIT) != 0, errno == EINTR {}
      // Not while a signal is sent: the id may be another's afterwards.
      result.change { result in
        var status: Int32 = 0
        waitpid(id, &status, 0)
        result = status
      }
      ended.open()
    }
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

  package var output: String { String(decoding: bytes, as: UTF8.self) }

  package var bytes: [UInt8] { written.state.output }

  /// The exit status, or the signal that ended the program; -1 while it runs.
  package var status: Int32 {
    result.state.map { $0 & 0x7f == 0 ? $0 >> 8 & 0xff : $0 & 0x7f } ?? -1
  }

  /// Waits until the program has written this. Throws if it ends without it.
  package func waitForOutput(_ text: String) async throws {
    try await written.wait("'\(text)' in the output of \(name)") { written in
      written.isOver || String(decoding: written.output, as: UTF8.self).contains(text)
    }
    let output = output
    guard output.contains(text) else {
      throw TestFailure("\(name) ended without '\(text)': \(output.suffix(2_000))")
    }
  }

  /// Asks the program to end.
  package func stop() { send(SIGTERM) }

  package func terminate() async throws {
    stop()
    try await waitForExit()
  }

  /// Sends a signal, unless the program has ended.
  package func send(_ signal: Int32) { result.change { if $0 == nil { kill(id, signal) } } }

  package func waitForExit(seconds: Double = 120) async throws {
    try await ended.wait(seconds: seconds, "exit of \(name)")
  }

  /// Waits until the program has ended and all of its output is read.
  package func waitForEnd(seconds: Double = 120) async throws {
    try await waitForExit(seconds: seconds)
    try await outputEnded.wait(seconds: seconds, "the end of the output of \(name)")
  }
}

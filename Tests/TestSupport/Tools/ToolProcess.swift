import Foundation
import Synchronization

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

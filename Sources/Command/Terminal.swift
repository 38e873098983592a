import Foundation

/// The standard streams of the command. SIGPIPE is ignored: a closed stream does not end the command.
enum Terminal {
  static func say(_ line: String) { emit(line, to: STDOUT_FILENO) }

  static func complain(_ line: String) { emit("session-tap: " + line, to: STDERR_FILENO) }

  private static func emit(_ line: String, to descriptor: Int32) {
    try? FileHandle(fileDescriptor: descriptor).write(contentsOf: Data((line + "\n").utf8))
  }
}

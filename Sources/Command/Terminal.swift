import Foundation

/// The standard streams of the command. SIGPIPE is ignored: a closed stream does not end the command.
enum Terminal {
  /// Whether standard output is a terminal: a line may then be written over.
  static var isInteractive: Bool { isatty(STDOUT_FILENO) == 1 }

  static func say(_ line: String) { emit(line + "\n", to: STDOUT_FILENO) }

  static func replaceLine(_ line: String) {
    // ECMA-48: carriage return, erase to the end of the line.
    emit("\r\u{1B}[K" + line, to: STDOUT_FILENO)
  }

  static func finishLine(_ line: String) {
    if isInteractive { replaceLine(line + "\n") } else { say(line) }
  }

  static func complain(_ line: String) { emit("session-tap: " + line + "\n", to: STDERR_FILENO) }

  private static func emit(_ text: String, to descriptor: Int32) {
    try? FileHandle(fileDescriptor: descriptor).write(contentsOf: Data(text.utf8))
  }
}

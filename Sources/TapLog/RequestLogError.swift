import TapCore

/// Why a log could not be started. The description names what failed, why, and what to do.
public struct RequestLogError: Error, Sendable, CustomStringConvertible {
  package let code: Code
  /// The text, such as `cannot open the log file "/var/log/app/requests.jsonl": Permission denied; …`.
  public let description: String

  package enum Code: Sendable {
    /// The file cannot be opened for appending, or the path or descriptor takes no lines.
    case cannotOpen
    /// A field for every line has a key that the log uses itself, or one of more than 256 bytes, or there are
    /// more than 64 such fields.
    case invalidField
    case cannotStartWriter
  }

  /// - Parameter reason: What keeps the path from being opened, and what to do.
  static func cannotOpen(path: String, because reason: String) -> RequestLogError {
    // A service manager starts a program in "/" unless it is told otherwise.
    let folder = path.isEmpty || path.hasPrefix("/") ? nil : System.workingDirectory
    return RequestLogError(
      code: .cannotOpen,
      description:
        "cannot open the log file \(quoted(path))\(folder.map { " in \(quoted($0))" } ?? ""): \(reason)")
  }

  static func cannotOpen(path: String, _ failure: System.Failure) -> RequestLogError {
    cannotOpen(path: path, because: advice(on: failure))
  }

  /// Why a path takes no lines, and what to do.
  static func advice(on failure: System.Failure) -> String {
    if failure == .noReader || failure == .brokenPipe { return "it has no reader; start one" }
    let remedy =
      switch failure {
      case .denied:
        "let this process's user write to the file and search its directory, or choose another path"
      case .missing: "make its directory if that is missing, or choose another path"
      default: "choose a path where this process can append to a file"
      }
    return "\(failure); \(remedy)"
  }

  /// A text for a message: its beginning, on one line.
  static func quoted(_ text: String) -> String {
    let limit = 200
    return (text.utf8.count > limit ? text.prefix(limit) + "…" : Substring(text)).debugDescription
  }
}

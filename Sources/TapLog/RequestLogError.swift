import TapCore

/// Why a log could not be started. The description names what failed, why, and what to do.
public struct RequestLogError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of error.
  public let code: Code
  /// The text, such as `cannot open the log file "/var/log/app/requests.jsonl": Permission denied; …`.
  public let description: String

  /// The kinds of error. More may be added: a `switch` over them needs a default.
  public struct Code: Sendable, Hashable {
    private let name: String

    /// The file cannot be opened for appending, or the path or descriptor takes no lines.
    public static let cannotOpen = Code(name: "cannotOpen")
    /// A field for every line has a key that the log uses itself.
    public static let reservedField = Code(name: "reservedField")
    /// A field for every line has a key of more than 256 bytes, or there are more than 64 such fields.
    public static let invalidField = Code(name: "invalidField")
    /// The system cannot start the writer's thread.
    public static let cannotStartWriter = Code(name: "cannotStartWriter")
  }

  /// - Parameter reason: What keeps the path from being opened, and what to do.
  static func cannotOpen(path: String, because reason: String) -> RequestLogError {
    RequestLogError(code: .cannotOpen, description: "cannot open the log file \(quoted(path)): \(reason)")
  }

  static func cannotOpen(path: String, _ failure: System.Failure) -> RequestLogError {
    let remedy =
      switch failure {
      case .denied:
        "let this process's user write to the file and search its directory, or choose another path"
      case .missing where System.isFolder(folder(of: path)):
        "no file can be made in that directory, choose a path in another"
      case .missing: "make the directory first, or choose another path"
      case .isDirectory: "name a file in that directory"
      case .readOnly: "choose a path on a file system that can be written to"
      case .noSpace: "make room on that file system, or choose another path"
      case .tooManyFiles: "raise the limit of open files (ulimit -n), or close some"
      case .nameTooLong: "choose a shorter path"
      default: "choose a path where this process can append to a file"
      }
    return cannotOpen(path: path, because: "\(failure.text); \(remedy)")
  }

  /// What stands before the last slash.
  private static func folder(of path: String) -> String {
    path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
  }

  static func cannotWrite(descriptor: Int32, _ failure: System.Failure) -> RequestLogError {
    RequestLogError(
      code: .cannotOpen,
      description:
        "cannot write the log to descriptor \(descriptor): \(failure.text); open it for writing, and keep it open"
    )
  }

  static func reservedField(_ key: String) -> RequestLogError {
    RequestLogError(
      code: .reservedField,
      description:
        "the log field \(quoted(key)) cannot be set: every line has it by itself; choose another key")
  }

  static func fieldKeyTooLong(_ key: String, limit: Int) -> RequestLogError {
    RequestLogError(
      code: .invalidField,
      description:
        "the log field \(quoted(key)) cannot be set: its key has more than \(limit) bytes; choose a shorter one"
    )
  }

  static func tooManyFields(_ count: Int, limit: Int) -> RequestLogError {
    RequestLogError(
      code: .invalidField,
      description: "\(count) log fields cannot be set: a line has room for \(limit); set fewer for every line"
    )
  }

  /// A text for a message: its beginning, on one line.
  private static func quoted(_ text: String) -> String {
    let limit = 200
    return (text.utf8.count > limit ? text.prefix(limit) + "…" : Substring(text)).debugDescription
  }

  static func cannotStartWriter(_ failure: System.Failure) -> RequestLogError {
    RequestLogError(
      code: .cannotStartWriter,
      description:
        "cannot start the log's writer thread: \(failure.text); raise the limit of threads (ulimit -u)"
    )
  }
}

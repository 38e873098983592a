import TapCore

/// Why a log could not be started. The description names what failed, why, and what to do.
public struct RequestLogError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of error.
  public let code: Code
  /// For a person: `cannot open the log file "/var/log/app/requests.jsonl": Permission denied; …`.
  public let description: String

  /// The kinds of error. More may come.
  public struct Code: Sendable, Hashable {
    private let name: String

    /// The file cannot be opened for appending.
    public static let cannotOpen = Code(name: "cannotOpen")
    /// A field that every line should have uses a key that the log uses itself.
    public static let reservedField = Code(name: "reservedField")
    /// The system gives no thread to write with.
    public static let cannotStartWriter = Code(name: "cannotStartWriter")
  }

  static func cannotOpen(path: String, failure: System.Failure) -> RequestLogError {
    let remedy =
      switch failure {
      case .denied:
        "let this process's user write to the file and search its directory, or choose another path"
      case .missing: "make the directory first, or choose another path"
      case .isDirectory: "name a file in that directory"
      case .readOnly: "choose a path on a file system that can be written to"
      case .noSpace: "make room on that file system, or choose another path"
      case .tooManyFiles: "raise the limit of open files (ulimit -n), or close some"
      default: "choose a path where this process can append to a file"
      }
    return RequestLogError(
      code: .cannotOpen, description: "cannot open the log file \"\(path)\": \(failure.text); \(remedy)")
  }

  static func reservedField(_ key: String) -> RequestLogError {
    RequestLogError(
      code: .reservedField,
      description: "the log field \"\(key)\" cannot be set: every line has it by itself; choose another key")
  }

  static func cannotStartWriter(_ failure: BackgroundThread.Failure) -> RequestLogError {
    RequestLogError(
      code: .cannotStartWriter,
      description:
        "cannot start the log's writer thread: \(System.Failure(code: failure.code).text); raise the limit of threads (ulimit -u)"
    )
  }
}

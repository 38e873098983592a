import TapCore
import TapLibc

/// Why an endpoint cannot start. Its description names the cause and the remedy in one line.
public struct EndpointError: Error, Sendable, CustomStringConvertible {
  /// The causes. More may be added: a `switch` over them needs a default.
  public struct Code: Sendable, Equatable {
    private let name: String

    /// Another socket listens at the address.
    public static let addressInUse = Code(name: "addressInUse")
    /// The host is not an address of this machine, or its name does not resolve.
    public static let addressNotAvailable = Code(name: "addressNotAvailable")
    /// The process is not permitted to listen at the address.
    public static let permissionDenied = Code(name: "permissionDenied")
    /// A setting is out of its range, or two contradict each other.
    public static let invalidConfiguration = Code(name: "invalidConfiguration")
    /// The endpoint is already running.
    public static let alreadyRunning = Code(name: "alreadyRunning")
    /// The process or the system has no file descriptor left.
    public static let tooManyOpenFiles = Code(name: "tooManyOpenFiles")
    /// A file of credentials cannot be read, or has none.
    public static let noCredentials = Code(name: "noCredentials")
    /// Other machines could read without credentials, and the configuration does not allow that.
    public static let accessNotRestricted = Code(name: "accessNotRestricted")
    /// A system call failed for another reason.
    public static let system = Code(name: "system")
  }

  /// The cause.
  public let code: Code
  /// The cause and the remedy in one line, such as `address in use: 127.0.0.1:9464 (…)`.
  public let description: String

  /// Whether another try with the same configuration fails as well.
  package var isLasting: Bool {
    [.invalidConfiguration, .accessNotRestricted, .alreadyRunning].contains(code)
  }

  package let file: String?

  package init(_ code: Code, _ description: String, file: String? = nil) {
    (self.code, self.description, self.file) = (code, description, file)
  }

  /// - Parameter number: The `errno` of a system call.
  init(_ number: Int32, listeningAt address: EndpointAddress) {
    let (code, reason, remedy): (Code, String, String) =
      switch number {
      case EADDRINUSE:
        (.addressInUse, "address in use", "stop the process that listens there, or choose another address")
      case EADDRNOTAVAIL: (.addressNotAvailable, "address not available", "use an address of this machine")
      case EACCES, EPERM: (.permissionDenied, "permission denied", "choose a port above 1023")
      case EMFILE, ENFILE: (.tooManyOpenFiles, "too many open files", "raise the limit, see ulimit -n")
      default: (.system, "cannot listen", System.Failure(code: number).description)
      }
    self.init(code, "\(reason): \(address) (\(remedy))")
  }
}

/// Why metrics could not be pushed. Its description names the cause in one line.
public struct PushError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The causes. New ones may come: a `switch` over them needs a default.
  public struct Code: Sendable, Hashable {
    private enum Name { case invalidTarget, unreachable, refused }
    private let name: Name

    /// The URL, the job or a label cannot be used.
    public static let invalidTarget = Code(name: .invalidTarget)
    /// Nobody answers at the address, or not in time.
    public static let unreachable = Code(name: .unreachable)
    /// The gateway does not take the metrics.
    public static let refused = Code(name: .refused)
  }

  /// The cause.
  public let code: Code
  /// The cause in one line.
  public let description: String
  /// Whether the same push may succeed later.
  public let isTransient: Bool

  init(_ code: Code, _ description: String, isTransient: Bool = false) {
    self.code = code
    self.description = description
    self.isTransient = isTransient
  }
}

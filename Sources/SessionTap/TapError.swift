public import Foundation
public import TapCore

/// Why a tap cannot be made or started, or a push failed. Its description names cause and remedy.
public struct TapError: Error, CustomStringConvertible {
  /// The causes. More may be added: a `switch` over them needs a default.
  public struct Code: Sendable, Equatable {
    private let name: String

    /// The metrics cannot be registered: the underlying error is a ``/TapCore/RegistryError``.
    public static let metrics = Code(name: "metrics")
    /// The log cannot be opened: the underlying error is a ``/TapLog/RequestLogError``.
    public static let log = Code(name: "log")
    /// The endpoint cannot listen: the underlying error is a ``/TapEndpoint/EndpointError``.
    public static let endpoint = Code(name: "endpoint")
    /// The target of a push is invalid, or a Pushgateway did not accept the metrics.
    public static let push = Code(name: "push")
    /// The configuration is invalid: the underlying error is a ``/TapCore/PathTemplateError``.
    public static let configuration = Code(name: "configuration")
    /// The tap was started before. Make another one.
    public static let startedBefore = Code(name: "startedBefore")
    /// The tap was shut down. Make another one.
    public static let shutDown = Code(name: "shutDown")
  }

  /// Which part failed.
  public let code: Code
  /// The underlying error, if there is one.
  public let underlying: (any Error)?
  /// The cause and the remedy in one line, such as `address in use: 127.0.0.1:9464 (…)`.
  public let description: String

  init(_ code: Code, _ description: String, underlying: (any Error)? = nil) {
    (self.code, self.underlying, self.description) = (code, underlying, description)
  }

  init(_ error: any Error) {
    let code: Code =
      switch error {
      case is RegistryError: .metrics
      case is PathTemplateError: .configuration
      default: .log
      }
    self.init(code, "\(error)", underlying: error)
  }
}

// Without these, `localizedDescription` is "The operation could not be completed". That of an error of a
// registry stands here since its module does without Foundation; a tap wraps all others in its own.

extension TapError: LocalizedError {
  /// The ``description``.
  public var errorDescription: String? { description }
}

extension RegistryError: LocalizedError {
  /// The description of the error.
  public var errorDescription: String? { description }
}

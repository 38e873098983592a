public import Foundation
public import TapCore
public import TapEndpoint
public import TapLog

// Without these, `localizedDescription` is "The operation could not be completed". The conformances stand here since the
// modules of the errors do without Foundation.

extension TapError: LocalizedError {
  /// The ``description``.
  public var errorDescription: String? { description }
}

extension PathTemplateError: LocalizedError {
  /// The description of the error.
  public var errorDescription: String? { description }
}

extension RegistryError: LocalizedError {
  /// The description of the error.
  public var errorDescription: String? { description }
}

extension RequestLogError: LocalizedError {
  /// The description of the error.
  public var errorDescription: String? { description }
}

extension EndpointError: LocalizedError {
  /// The description of the error.
  public var errorDescription: String? { description }
}

extension PushError: LocalizedError {
  /// The description of the error.
  public var errorDescription: String? { description }
}

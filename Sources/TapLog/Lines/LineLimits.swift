/// How long the parts of a line may be, in bytes before escaping. That of a URL can be chosen.
enum LineLimits {
  /// Names: of a client, of a host (RFC 1035: 253), a path template, the key of a field.
  static let name = 256
  /// A method that is not a known one.
  static let method = 64
  /// The text of a field that the app adds.
  static let value = 1_024
  /// The message of a line of the app's own.
  static let message = 8_192
  /// How many fields the app adds.
  static let fields = 64
  /// The whole line.
  static let line = 16_384
}

import TapCore

/// How long the parts of a line may be, in bytes before escaping.
struct LineLimits: Sendable {
  /// `url.full`, after redaction.
  var url = 2_048
  /// Names: of a client, of a host (RFC 1035: 253), a path template, the key of a field.
  var name = 256
  /// A method that is not a known one.
  var method = 64
  /// The text of a field that the app adds.
  var value = 1_024
  /// The message of a line of the app's own.
  var message = 8_192
  /// How many fields the app adds.
  var fields = 64
  /// The whole line.
  var line = 16_384
  /// The methods that appear as themselves.
  var knownMethods = KnownMethods.standard
}

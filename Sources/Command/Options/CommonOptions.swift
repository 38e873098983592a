/// The options that both commands share.
struct CommonOptions: Equatable {
  var port = 9464
  var log = "requests.jsonl"

  static let names: Set<String> = ["--port", "--log"]

  /// Takes the option if it is one of these.
  mutating func take(_ name: String, _ value: String) throws(UsageError) -> Bool {
    switch name {
    case "--port": port = try OptionValue.integer(value, of: name, in: 0...65_535)
    case "--log":
      guard !value.isEmpty else { throw UsageError("--log needs a path, '-' or 'off'") }
      log = value
    default: return false
    }
    return true
  }
}

/// Splits a command line into options and operands: `--name value`, `--name=value`, `--flag`, `--`.
struct Arguments {
  /// The options in their order.
  private(set) var options: [(name: String, value: String?)] = []
  /// What is no option.
  private(set) var operands: [String] = []

  /// - Parameters:
  ///   - flags: The options without a value.
  ///   - valued: The options with a value.
  init(_ words: some Sequence<String>, flags: Set<String>, valued: Set<String>) throws(UsageError) {
    var rest = Array(words)[...]
    while let word = rest.popFirst() {
      guard word.hasPrefix("-"), word != "-" else {
        operands.append(word)
        continue
      }
      if word == "--" {
        operands += rest
        return
      }
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      let name = parts[0]
      if flags.contains(name) {
        guard parts.count == 1 else { throw UsageError("\(name) takes no value") }
        options.append((name, nil))
      } else if valued.contains(name) {
        guard let value = parts.count > 1 ? parts[1] : rest.popFirst() else {
          throw UsageError("\(name) needs a value")
        }
        options.append((name, value))
      } else {
        throw UsageError("unknown option \(name)")
      }
    }
  }
}

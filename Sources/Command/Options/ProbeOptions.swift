import Foundation

/// The options of `probe`.
struct ProbeOptions: Equatable {
  var common = CommonOptions()
  var urls: [URL] = []
  var every = Duration.seconds(5)
  var count: Int?
  var timeout = Duration.seconds(10)

  init(parsing words: some Sequence<String>) throws(UsageError) {
    let arguments = try Arguments(
      words, flags: [], valued: CommonOptions.names.union(["--every", "--count", "--timeout"]))
    for (name, value) in arguments.options {
      guard let value, try !common.take(name, value) else { continue }
      switch name {
      case "--every": every = try OptionValue.duration(value, of: name)
      case "--count": count = try OptionValue.integer(value, of: name, in: 1...1_000_000_000)
      default: timeout = try OptionValue.duration(value, of: name)
      }
    }
    for operand in arguments.operands {
      guard let url = URL(string: operand), url.scheme == "http" || url.scheme == "https",
        url.host?.isEmpty == false
      else { throw UsageError("probe takes http and https URLs, not '\(operand)'") }
      urls.append(url)
    }
    guard !urls.isEmpty else { throw UsageError("probe needs at least one URL") }
  }
}

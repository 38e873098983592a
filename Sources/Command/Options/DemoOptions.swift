/// The options of `demo`.
struct DemoOptions: Equatable {
  static let defaultRate = 20

  var common = CommonOptions()
  var rate = DemoOptions.defaultRate
  var requests: Int?
  var duration: Duration?

  init() {}

  init(parsing words: some Sequence<String>) throws(UsageError) {
    let arguments = try Arguments(
      words, flags: [], valued: CommonOptions.names.union(["--rate", "--requests", "--duration"]))
    if let operand = arguments.operands.first { throw UsageError("demo takes no operand: '\(operand)'") }
    for (name, value) in arguments.options {
      guard let value, try !common.take(name, value) else { continue }
      switch name {
      case "--rate": rate = try OptionValue.integer(value, of: name, in: 1...2_000)
      case "--requests": requests = try OptionValue.integer(value, of: name, in: 0...1_000_000_000)
      default: duration = try OptionValue.duration(value, of: name)
      }
    }
  }
}

/// What a benchmark found.
struct BenchmarkResult: Sendable {
  let name: String
  let unit: String
  let reference: String
  let value: Double
  let referenceValue: Double
  /// The median over the rounds of the one beside the other: a machine that slows down for a while slows both.
  let ratio: Double

  /// One JSON object on one line.
  var json: String {
    let members = [
      ("name", quoted(name)), ("value", number(value)), ("unit", quoted(unit)),
      ("reference", quoted(reference)), ("reference_value", number(referenceValue)), ("ratio", number(ratio)),
    ]
    return "{" + members.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}"
  }

  /// One row of the table.
  var row: String {
    let figures = "\(rounded(value)) \(unit)"
    return pad(name, 32) + pad(figures, 18, right: true) + "  "
      + pad(reference, 40) + pad("\(rounded(referenceValue)) \(unit)", 18, right: true)
      + pad(rounded(ratio), 10, right: true)
  }

  /// The head of the table.
  static var header: String {
    BenchmarkResult.pad("name", 32) + pad("value", 18, right: true) + "  " + pad("beside", 40)
      + pad("value", 18, right: true) + pad("ratio", 10, right: true)
  }

  private func pad(_ text: String, _ width: Int, right: Bool = false) -> String {
    Self.pad(text, width, right: right)
  }

  private static func pad(_ text: String, _ width: Int, right: Bool = false) -> String {
    let space = String(repeating: " ", count: max(0, width - text.count))
    return right ? space + text : text + space
  }

  /// JSON has no infinity and no NaN (RFC 8259, section 6).
  private func number(_ value: Double) -> String {
    value.isFinite ? value.description : "null"
  }

  private func rounded(_ value: Double) -> String {
    guard value.isFinite else { return "-" }
    let digits = value < 10 ? 1_000.0 : 10.0
    return ((value * digits).rounded() / digits).description
  }

  /// Names and units are ours: only what RFC 8259, section 7 demands is escaped.
  private func quoted(_ text: String) -> String {
    let escaped = text.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : String($0) }
    return "\"" + escaped.joined() + "\""
  }
}

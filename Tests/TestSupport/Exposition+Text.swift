extension Exposition { package var text: String { String(decoding: body, as: UTF8.self) } }

extension Registry {
  /// What it exposes in the text format.
  package var text: String { exposition().text }

  package var lines: [String] { text.split(separator: "\n").map(String.init) }

  /// The value of the one series that is written like this, where ``value(of:labels:)`` adds up those that have further labels.
  package func sample(_ sample: String) -> Double? {
    lines.first { $0.hasPrefix(sample + " ") }.flatMap { Double($0.dropFirst(sample.count + 1)) }
  }
}

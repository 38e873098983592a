extension Exposition { package var text: String { String(decoding: body, as: UTF8.self) } }

extension Registry {
  /// What it exposes in the text format.
  package var text: String { exposition().text }

  package var lines: [String] { text.split(separator: "\n").map(String.init) }

  /// The value of the one series that has these labels and no others, written as a scrape shows it:
  /// `name{label="value"}`. ``value(of:labels:)`` adds up all series that have the labels.
  package func value(ofSeries series: String) -> Double? { lines.values[series] }
}

extension [String] {
  /// Of lines of the text format, the value of each series, by what is written before it. It is not a number
  /// for a series that stands twice.
  package var values: [String: Double] {
    let values = filter { !$0.hasPrefix("#") }.compactMap { line in
      line.lastIndex(of: " ").map { (String(line[..<$0]), Double(line[$0...].dropFirst()) ?? .nan) }
    }
    return Dictionary(values) { _, _ in .nan }
  }
}

extension Exposition { package var text: String { String(decoding: body, as: UTF8.self) } }

extension Registry {
  /// What it exposes in the text format.
  package var text: String { exposition().text }

  package var lines: [String] { text.split(separator: "\n").map(String.init) }

  /// The value of the one series that has these labels and no others, written as a scrape shows it:
  /// `name{label="value"}`. ``value(of:labels:)`` adds up all series that have the labels.
  package func value(ofSeries series: String) -> Double? { lines.values[series] }
}

package enum ExpositionText {
  /// The sum over the series of a metric, or of those with a label. 0 if there is none.
  package static func sum(of name: String, with label: String = "", in text: some StringProtocol) -> Double {
    var sum = 0.0
    for line in text.split(separator: "\n") where line.hasPrefix(name) {
      guard label.isEmpty || line.contains(label), let next = line.dropFirst(name.count).first,
        next == "{" || next == " "
      else { continue }
      sum += line.lastIndex(of: " ").flatMap { Double(line[$0...].dropFirst()) } ?? .nan
    }
    return sum
  }
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

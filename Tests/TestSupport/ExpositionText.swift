/// The text format of an exposition, read line by line: what is wrong with it, and the sum of each metric.
package struct ExpositionText {
  /// What breaks the rules of the format (prometheus.io, "Exposition formats", text format 0.0.4).
  package private(set) var faults: [String] = []
  private var sums: [String: Double] = [:]
  private var series: Set<Substring> = []

  package init(_ text: String) {
    if !text.isEmpty, !text.hasSuffix("\n") { faults.append("the last line does not end") }
    // By bytes: `\r\n` is one character, and no line's end.
    for bytes in text.utf8.split(separator: UInt8(ascii: "\n")) {
      let line = Substring(bytes)
      guard faults.count < 10 else { return }
      if line.hasPrefix("#") ? !Self.isComment(line) : !readSample(line) {
        faults.append("no line of the text format: \(line.prefix(200))")
      }
    }
  }

  /// The sum over all series of a metric, 0 if there is none.
  package subscript(metric: String) -> Double { sums[metric] ?? 0 }

  /// The sum over the series of a metric, or of those with a label, without a look at anything else.
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

  private static func isComment(_ line: Substring) -> Bool {
    let words = line.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false)
    guard words.count >= 3, isName(words[2], colons: true) else { return false }
    switch words[1] {
    case "HELP": return words.count == 4
    case "TYPE": return words.count == 4 && ["counter", "gauge", "histogram", "untyped"].contains(words[3])
    default: return false
    }
  }

  private mutating func readSample(_ line: Substring) -> Bool {
    var rest = line.utf8[...]
    let name = Substring(rest.prefix { $0 != UInt8(ascii: "{") && $0 != UInt8(ascii: " ") })
    rest = rest.dropFirst(name.utf8.count)
    guard Self.isName(name, colons: true), let labels = Self.skipLabels(&rest) else { return false }
    let key = line.prefix(upTo: rest.startIndex)
    guard labels.count == Set(labels).count, series.insert(key).inserted, rest.first == UInt8(ascii: " "),
      let value = Self.number(Substring(rest.dropFirst()))
    else { return false }
    sums[String(name), default: 0] += value
    return true
  }

  /// Skips `{name="value",…}`, and gives the names; `nil` if it is none.
  private static func skipLabels(_ rest: inout Substring.UTF8View) -> [Substring]? {
    guard rest.first == UInt8(ascii: "{") else { return [] }
    rest = rest.dropFirst()
    var names: [Substring] = []
    while true {
      let name = Substring(rest.prefix { $0 != UInt8(ascii: "=") })
      rest = rest.dropFirst(name.utf8.count)
      guard isName(name, colons: false), rest.starts(with: "=\"".utf8) else { return nil }
      names.append(name)
      rest = rest.dropFirst(2)
      while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
        guard byte == UInt8(ascii: "\\") else { continue }
        guard let escaped = rest.popFirst(), #"\"n"#.utf8.contains(escaped) else { return nil }
      }
      switch rest.popFirst() {
      case UInt8(ascii: ","): continue
      case UInt8(ascii: "}"): return names
      default: return nil
      }
    }
  }

  private static func number(_ text: Substring) -> Double? {
    switch text {
    case "+Inf": .infinity
    case "-Inf": -.infinity
    case "NaN": .nan
    default: text.utf8.allSatisfy { "+-.0123456789eE".utf8.contains($0) } ? Double(text) : nil
    }
  }

  private static let digits = Set("0123456789".utf8)
  private static let letters = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_".utf8).union(digits)

  private static func isName(_ text: Substring, colons: Bool) -> Bool {
    guard let first = text.utf8.first, !digits.contains(first) else { return false }
    return text.utf8.allSatisfy { letters.contains($0) || colons && $0 == UInt8(ascii: ":") }
  }
}

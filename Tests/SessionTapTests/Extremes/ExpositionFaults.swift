/// What breaks the rules of the text format in an exposition, which is read line by line (prometheus.io,
/// "Exposition formats", text format 0.0.4).
struct ExpositionFaults {
  private(set) var all: [String] = []
  private var series: Set<Substring> = []

  init(_ text: String) {
    if !text.isEmpty, !text.hasSuffix("\n") { all.append("the last line does not end") }
    // By bytes: `\r\n` is one character, and no line's end.
    for bytes in text.utf8.split(separator: UInt8(ascii: "\n")) {
      let line = Substring(bytes)
      guard all.count < 10 else { return }
      if line.hasPrefix("#") ? !Self.isComment(line) : !readSample(line) {
        all.append("no line of the text format: \(line.prefix(200))")
      }
    }
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
    return labels.count == Set(labels).count && series.insert(key).inserted
      && rest.first == UInt8(ascii: " ") && Self.isNumber(Substring(rest.dropFirst()))
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

  private static func isNumber(_ text: Substring) -> Bool {
    ["+Inf", "-Inf", "NaN"].contains(text)
      || text.utf8.allSatisfy { "+-.0123456789eE".utf8.contains($0) } && Double(text) != nil
  }

  private static let digits = Set("0123456789".utf8)
  private static let letters = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_".utf8).union(digits)

  private static func isName(_ text: Substring, colons: Bool) -> Bool {
    guard let first = text.utf8.first, !digits.contains(first) else { return false }
    return text.utf8.allSatisfy { letters.contains($0) || colons && $0 == UInt8(ascii: ":") }
  }
}

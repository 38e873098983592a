/// The labels of one series as every text format writes them: `kind="email",queue="slow"`, by name, escaped.
///
/// Rendered once, when the series is made. Label values are cut at ``maximumValueLength`` bytes, at the
/// boundary of a Unicode scalar; two values that differ only after that are one series.
struct RenderedLabels: Sendable, Hashable, Comparable {
  /// The longest label value, in bytes of UTF-8.
  static let maximumValueLength = 256

  /// The labels of the overflow series.
  static let overflow = RenderedLabels([Labels.Pair(name: MetricName.overflowLabel, value: "true")])

  let bytes: [UInt8]
  /// Whether a value was cut: its key must then not be kept, because its size has no limit.
  let isCut: Bool

  /// Renders pairs that are sorted by name and whose names are valid.
  init(_ pairs: some Sequence<Labels.Pair>) {
    var bytes: [UInt8] = []
    var isCut = false
    for pair in pairs where !pair.value.isEmpty {
      if !bytes.isEmpty { bytes.append(UInt8(ascii: ",")) }
      bytes += pair.name.utf8
      bytes += "=\"".utf8
      let value = pair.value.prefix(utf8Length: Self.maximumValueLength)
      isCut = isCut || value.utf8.count < pair.value.utf8.count
      bytes.append(escaping: value.utf8)
      bytes.append(UInt8(ascii: "\""))
    }
    (self.bytes, self.isCut) = (bytes, isCut)
  }

  static func == (lhs: RenderedLabels, rhs: RenderedLabels) -> Bool { lhs.bytes == rhs.bytes }

  func hash(into hasher: inout Hasher) { hasher.combine(bytes) }

  /// Orders by label values, the first label first. The closing quote ranks below every character, so that
  /// a value comes before those that it is the beginning of.
  static func < (lhs: RenderedLabels, rhs: RenderedLabels) -> Bool {
    func rank(_ byte: UInt8) -> UInt8 { byte == UInt8(ascii: "\"") ? 0 : byte }
    return lhs.bytes.lexicographicallyPrecedes(rhs.bytes) { rank($0) < rank($1) }
  }

  /// The names and values, no longer escaped: for a format that does not escape.
  var pairs: [(name: [UInt8], value: [UInt8])] {
    var pairs: [(name: [UInt8], value: [UInt8])] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      let name = rest.prefix { $0 != UInt8(ascii: "=") }
      rest = rest.dropFirst(name.count + 2)
      var value: [UInt8] = []
      while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
        let escaped = byte == UInt8(ascii: "\\") ? rest.popFirst() : nil
        value.append(escaped == UInt8(ascii: "n") ? UInt8(ascii: "\n") : escaped ?? byte)
      }
      pairs.append((Array(name), value))
      rest = rest.dropFirst()
    }
    return pairs
  }
}

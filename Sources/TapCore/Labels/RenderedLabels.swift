/// The labels of one series as every text format writes them: `kind="email",queue="slow"`, by name, escaped.
///
/// Rendered once, when the series is made. Label values are cut at ``maximumValueLength`` bytes, at the
/// boundary of a Unicode scalar; two values that differ only after that are one series.
struct RenderedLabels: Sendable, Hashable {
  /// The longest label value, in bytes of UTF-8.
  static let maximumValueLength = 256

  /// What takes the place of every label set that a family has no room for (OpenTelemetry metrics SDK,
  /// "Overflow attribute").
  static let overflow = RenderedLabels([Labels.Pair(name: "otel_metric_overflow", value: "true")])

  let bytes: [UInt8]
  /// A value had to be cut: the key that it came from must not be kept, because its size has no bound.
  let isCut: Bool

  /// Renders pairs that are sorted by name and whose names are valid.
  init(_ pairs: some Sequence<Labels.Pair>) {
    var bytes: [UInt8] = []
    var isCut = false
    for pair in pairs where !pair.value.isEmpty {
      if !bytes.isEmpty { bytes.append(UInt8(ascii: ",")) }
      bytes.append(contentsOf: pair.name.utf8)
      bytes.append(contentsOf: [UInt8(ascii: "="), UInt8(ascii: "\"")])
      let value = pair.value.prefix(utf8Length: Self.maximumValueLength)
      isCut = isCut || value.utf8.count < pair.value.utf8.count
      Self.escape(value, into: &bytes)
      bytes.append(UInt8(ascii: "\""))
    }
    self.bytes = bytes
    self.isCut = isCut
  }

  /// Text format 0.0.4 and OpenMetrics 1.0 escape the same three characters in a label value.
  private static func escape(_ value: Substring, into bytes: inout [UInt8]) {
    for byte in value.utf8 {
      switch byte {
      case UInt8(ascii: "\\"): bytes.append(contentsOf: [byte, UInt8(ascii: "\\")])
      case UInt8(ascii: "\""): bytes.append(contentsOf: [UInt8(ascii: "\\"), byte])
      case UInt8(ascii: "\n"): bytes.append(contentsOf: [UInt8(ascii: "\\"), UInt8(ascii: "n")])
      default: bytes.append(byte)
      }
    }
  }

  static func == (lhs: RenderedLabels, rhs: RenderedLabels) -> Bool {
    lhs.bytes == rhs.bytes
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(bytes)
  }
}

extension RenderedLabels: Comparable {
  /// Orders by label values, the first label first. The closing quote ranks below every character, so that
  /// a value comes before those that it is the beginning of.
  static func < (lhs: RenderedLabels, rhs: RenderedLabels) -> Bool {
    func rank(_ byte: UInt8) -> UInt8 { byte == UInt8(ascii: "\"") ? 0 : byte }
    return lhs.bytes.lexicographicallyPrecedes(rhs.bytes) { rank($0) < rank($1) }
  }
}

extension ExpositionFormat {
  /// The best format for the value of an `Accept` header (RFC 9110, section 12.5.1). Text 0.0.4 if there is
  /// no header or none of its formats is supported: that helps a scraper more than a 406.
  public init(accept: String?) {
    let ranges = QualityList(accept ?? "").items
    self = .text
    var best: Match = (0, 0, 0)
    for format in Self.allCases {
      guard let match = format.match(in: ranges), match > best else { continue }
      (self, best) = (format, match)
    }
  }

  /// The rank of a format: by its weight, then by how exactly the header names it, then by its place in the header.
  private typealias Match = (quality: Double, precision: Int, place: Int)

  /// The most specific range that names this format: its weight applies.
  private func match(in ranges: [QualityList.Item]) -> Match? {
    guard let type = QualityList(contentType).items.first else { return nil }
    let matches = ranges.enumerated().compactMap { place, range -> Match? in
      range.precision(naming: type).map { (range.quality, $0, -place) }
    }
    return matches.max { $0.precision < $1.precision }
  }
}

/// The items of an `Accept` or `Accept-Encoding` header: values with parameters and a weight (RFC 9110, sections
/// 5.6.6 and 12.4.2).
///
/// An item that cannot be parsed is left out. The caller bounds the header's length.
struct QualityList: Sendable, Hashable {
  let items: [Item]

  /// Whether the value of an `Accept-Encoding` header (RFC 9110, section 12.5.3) prefers gzip to a body as it is.
  var prefersGzip: Bool {
    func quality(_ names: String...) -> Double? { items.first { names.contains($0.value) }?.quality }
    // "x-gzip" is the same (section 8.4.1.3), and "*" is every coding that is not named.
    let gzip = quality("gzip", "x-gzip") ?? quality("*") ?? 0
    // Without its name, identity is acceptable but not asked for.
    return gzip > 0 && gzip >= quality("identity") ?? 0
  }

  init(_ header: String) {
    items = Self.split(header, at: ",").compactMap { element in
      let parts = Self.split(element, at: ";")
      return Item(value: parts[0].lowercased(), parameters: parts.dropFirst())
    }
  }

  struct Item: Sendable, Hashable {
    let value: String
    private(set) var parameters: [String: String] = [:]
    /// 0 to 1; 0 means "not acceptable".
    private(set) var quality = 1.0

    fileprivate init?(value: String, parameters: ArraySlice<String>) {
      if value.isEmpty { return nil }
      self.value = value
      for parameter in parameters {
        let name = parameter.prefix { $0 != "=" }
        let text = QualityList.unquote(String(parameter.dropFirst(name.count + 1)))
        if name.lowercased() == "q" {
          guard let quality = QualityList.quality(text) else { return nil }
          self.quality = quality
        } else if !name.isEmpty {
          self.parameters[name.lowercased()] = text
        }
      }
    }

    /// How exactly a media range names a type: by the first part, by both, and by each parameter that agrees. `nil` if it does not.
    /// Parameters that the type does not have, such as the `escaping` of Prometheus 3, are ignored.
    fileprivate func precision(naming type: Item) -> Int? {
      if value == "*/*" { return 0 }
      if value == "\(type.value.prefix { $0 != "/" })/*" { return 1 }
      let asked = type.parameters.filter { parameters[$0.key] != nil }
      let agrees = asked.allSatisfy { parameters[$0.key]?.lowercased() == $0.value.lowercased() }
      return value == type.value && agrees ? 2 + asked.count : nil
    }
  }

  /// `0` or `1` with at most three decimals, and no more than 1 (RFC 9110, section 12.4.2).
  private static func quality(_ text: String) -> Double? {
    guard let first = text.utf8.first, first == UInt8(ascii: "0") || first == UInt8(ascii: "1"),
      text.utf8.count <= 5, text.utf8.allSatisfy({ (0x2e...0x39).contains($0) && $0 != 0x2f }),
      let value = Double(text.hasSuffix(".") ? text + "0" : text), value <= 1
    else { return nil }
    return value
  }

  /// Splits outside of quoted strings, and trims spaces and tabs. No parameter that is asked for has an escaped quote.
  private static func split(_ text: String, at separator: Character) -> [String] {
    var isQuoted = false
    let parts = text.split(omittingEmptySubsequences: false) { character in
      if character == "\"" { isQuoted.toggle() }
      return character == separator && !isQuoted
    }
    func isSpace(_ character: Character) -> Bool { character == " " || character == "\t" }
    return parts.map { String($0.drop(while: isSpace).reversed().drop(while: isSpace).reversed()) }
  }

  /// The content of a quoted string (RFC 9110, section 5.6.4), or the token as it is.
  private static func unquote(_ text: String) -> String {
    text.count >= 2 && text.hasPrefix("\"") && text.hasSuffix("\"")
      ? String(text.dropFirst().dropLast()) : text
  }
}

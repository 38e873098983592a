extension ExpositionFormat {
  /// The best format for the value of an `Accept` header (RFC 9110, section 12.5.1); text 0.0.4 where there is none,
  /// or nothing that it names can be given: a scraper gets more from that than from a 406.
  public init(accept: String?) {
    self = .text
    guard let accept else { return }
    let ranges = QualityList(accept).items
    var best = Match.none
    for format in Self.allCases {
      guard let match = format.match(in: ranges), match.quality > 0, match.isBetter(than: best) else {
        continue
      }
      best = match
      self = format
    }
  }

  /// The rank of a format: by its weight, then by how exactly the header names it, then by its place in the header.
  private struct Match {
    let quality: Double
    let precision: Int
    let place: Int

    static let none = Match(quality: 0, precision: -1, place: .max)

    func isBetter(than other: Match) -> Bool {
      (quality, precision, -place) > (other.quality, other.precision, -other.place)
    }
  }

  /// The most specific range that names this format: its weight applies.
  private func match(in ranges: [QualityList.Item]) -> Match? {
    guard let mediaType = QualityList(contentType).items.first else { return nil }
    var best: Match?
    for (place, range) in ranges.enumerated() {
      let precision: Int
      switch range.value {
      case mediaType.value:
        guard let matched = matchedParameters(of: range, mediaType.parameters) else { continue }
        precision = 2 + matched
      case mediaType.value.prefix { $0 != "/" } + "/*": precision = 1
      case "*/*": precision = 0
      default: continue
      }
      if precision > best?.precision ?? -1 {
        best = Match(quality: range.quality, precision: precision, place: place)
      }
    }
    return best
  }

  /// The number of a range's parameters that agree with the format's; `nil` if one differs. Parameters that the format does not
  /// have, such as the `escaping` of Prometheus 3, are ignored.
  private func matchedParameters(of range: QualityList.Item, _ own: [String: String]) -> Int? {
    var matched = 0
    for (name, value) in own {
      guard let asked = range.parameters[name] else { continue }
      guard asked.lowercased() == value.lowercased() else { return nil }
      matched += 1
    }
    return matched
  }
}

/// How the body of an answer is coded (RFC 9110, section 8.4.1).
package enum ContentCoding: String, Sendable, Hashable {
  /// As it is.
  case identity
  /// Compressed (RFC 1952).
  case gzip

  /// The best coding for the value of an `Accept-Encoding` header (RFC 9110, section 12.5.3).
  init(acceptEncoding: String?) {
    self = .identity
    guard let acceptEncoding else { return }
    let codings = QualityList(acceptEncoding).items
    func quality(_ names: [String]) -> Double? {
      codings.first { names.contains($0.value) }?.quality
    }
    // "x-gzip" is the same (section 8.4.1.3), and "*" is every coding that is not named.
    let gzip = quality(["gzip", "x-gzip"]) ?? quality(["*"]) ?? 0
    // Without its name, identity is acceptable but not asked for.
    if gzip > 0, gzip >= quality(["identity"]) ?? 0 { self = .gzip }
  }
}

/// The items of an `Accept` or `Accept-Encoding` header: values with parameters and a weight (RFC 9110, sections
/// 5.6.6 and 12.4.2).
///
/// An item that cannot be parsed is left out. The caller bounds the header's length.
struct QualityList: Sendable, Hashable {
  private(set) var items: [Item] = []

  init(_ header: String) {
    for element in Self.split(header, at: ",") {
      let parts = Self.split(element, at: ";")
      guard let value = parts.first, !value.isEmpty else { continue }
      if let item = Item(value: value.lowercased(), parameters: parts.dropFirst()) { items.append(item) }
    }
  }

  /// A value, its parameters and its weight.
  struct Item: Sendable, Hashable {
    /// In lower case.
    let value: String
    /// Names in lower case.
    private(set) var parameters: [String: String] = [:]
    /// 0 to 1; 0 means "not acceptable".
    private(set) var quality = 1.0

    fileprivate init?(value: String, parameters: ArraySlice<String>) {
      self.value = value
      for parameter in parameters {
        let sides = parameter.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = sides[0].lowercased()
        let text = sides.count > 1 ? QualityList.unquote(String(sides[1])) : ""
        if name == "q" {
          guard let quality = QualityList.quality(text) else { return nil }
          self.quality = quality
        } else if !name.isEmpty {
          self.parameters[name] = text
        }
      }
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
    func isSpace(_ character: Character) -> Bool { character == " " || character == "\t" }
    var isQuoted = false
    let parts = text.split(omittingEmptySubsequences: false) { character in
      if character == "\"" { isQuoted.toggle() }
      return character == separator && !isQuoted
    }
    return parts.map { part in
      String(part.drop(while: isSpace).reversed().drop(while: isSpace).reversed())
    }
  }

  /// The content of a quoted string (RFC 9110, section 5.6.4), or the token as it is.
  private static func unquote(_ text: String) -> String {
    text.count >= 2 && text.hasPrefix("\"") && text.hasSuffix("\"")
      ? String(text.dropFirst().dropLast()) : text
  }
}

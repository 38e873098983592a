/// The items of an `Accept` or `Accept-Encoding` header: values with parameters and a weight (RFC 9110, sections
/// 5.6.6 and 12.4.2).
///
/// What cannot be parsed is left out. The caller bounds the header's length.
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

  /// Splits outside of quoted strings and trims spaces and tabs.
  private static func split(_ text: String, at separator: Character) -> [String] {
    var parts: [String] = []
    var part = ""
    var isQuoted = false
    var isEscaped = false
    for character in text {
      if character == separator, !isQuoted {
        parts.append(trim(part))
        part = ""
        continue
      }
      part.append(character)
      if isEscaped {
        isEscaped = false
      } else if character == "\\" {
        isEscaped = isQuoted
      } else if character == "\"" {
        isQuoted.toggle()
      }
    }
    return parts + [trim(part)]
  }

  private static func trim(_ text: String) -> String {
    func isSpace(_ character: Character) -> Bool { character == " " || character == "\t" }
    let head = text.drop(while: isSpace)
    return String(head.prefix(head.count - head.reversed().prefix(while: isSpace).count))
  }

  /// The content of a quoted string (RFC 9110, section 5.6.4), or the token as it is.
  private static func unquote(_ text: String) -> String {
    guard text.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") else { return text }
    var content = ""
    var isEscaped = false
    for character in text.dropFirst().dropLast() {
      if character == "\\", !isEscaped {
        isEscaped = true
      } else {
        content.append(character)
        isEscaped = false
      }
    }
    return content
  }
}

/// The format of an answer, and the escaping of names that the scraper negotiated with it.
package struct NegotiatedFormat: Hashable, Sendable {
  package private(set) var format = ExpositionFormat.text
  /// One of ``escapings``; `nil` if the scraper asked for none.
  private var escaping: String?

  /// The format for the value of an `Accept` header (RFC 9110, section 12.5.1): that with the greatest
  /// weight, of several the first. Text 0.0.4 if there is no header or it names none of the formats: that
  /// helps a scraper more than a 406.
  package init(accept: String?) {
    var best = 0.0
    for item in AcceptedItem.list(accept) where item.weight > best {
      guard let type = Self.types.first(where: { item.names($0.type) }) else { continue }
      (format, best) = (type.format, item.weight)
      escaping = item["escaping"].flatMap { Self.escapings[$0] }
    }
  }

  /// The value of the `Content-Type` header. It names the escaping that was asked for (Prometheus, "Scrape
  /// protocol content negotiation", Content-Type Response).
  package var contentType: String { format.contentType + (escaping.map { "; escaping=\($0)" } ?? "") }

  /// The escaping that the names have, by that which is asked for (Prometheus, "UTF-8 metric and label name
  /// escaping schemes"). All names here are of the legacy characters, which only `dots` would change: the
  /// answer then says what they are.
  private static let escapings = [
    "allow-utf-8": "allow-utf-8", "underscores": "underscores", "values": "values", "dots": "underscores",
  ]

  private static let types = ExpositionFormat.allCases.flatMap { format in
    AcceptedItem.list(format.contentType).map { (format: format, type: $0) }
  }
}

extension Gzip {
  /// Whether the value of an `Accept-Encoding` header (RFC 9110, section 12.5.3) prefers gzip to no coding.
  package static func isPreferred(by acceptEncoding: String?) -> Bool {
    let items = AcceptedItem.list(acceptEncoding)
    func weight(_ name: String) -> Double? { items.first { $0.value == name }?.weight }
    // "x-gzip" is the same (section 8.4.1.3), and "*" is every coding that is not named.
    let gzip = weight("gzip") ?? weight("x-gzip") ?? weight("*") ?? 0
    // Without its name, identity is acceptable but not asked for.
    return gzip > 0 && gzip >= weight("identity") ?? 0
  }
}

/// An item of an `Accept` or `Accept-Encoding` header in lower case: a value with parameters and a weight
/// (RFC 9110, sections 5.6.6 and 12.4.2).
///
/// Commas and semicolons within quoted strings, which no scraper sends, are not recognized.
package struct AcceptedItem: Sendable {
  fileprivate let value: Substring
  private var parameters: [Substring: String] = [:]
  /// 0 means "not acceptable".
  fileprivate private(set) var weight = 1.0

  /// The weight of a type that the header names; `nil` if it does not.
  package static func weight(of type: String, in header: String?) -> Double? {
    list(header).first { $0.value == type }?.weight
  }

  /// Ignores items that cannot be read, and all after the first 64.
  fileprivate static func list(_ header: String?) -> [AcceptedItem] {
    (header ?? "").lowercased().split(separator: ",", maxSplits: 64).prefix(64)
      .compactMap(AcceptedItem.init)
  }

  private init?(_ text: Substring) {
    let parts = text.split(separator: ";", maxSplits: 64)
    guard let first = parts.first, parts.count <= 64 else { return nil }
    value = Substring(first.utf8.trimmingBlanks)
    for part in parts.dropFirst() {
      let pair = Substring(part.utf8.trimmingBlanks).split(separator: "=", maxSplits: 1)
      guard let name = pair.first else { continue }
      let text = pair.dropFirst().first ?? ""
      if name == "q" {
        guard let weight = Self.weight(text) else { return nil }
        self.weight = weight
      } else {
        // A quoted string is its content (section 5.6.4).
        parameters[name] = text.filter { $0 != "\"" && $0 != "\\" }
      }
    }
  }

  subscript(parameter: Substring) -> String? { parameters[parameter] }

  /// Whether it names a type. Parameters that the type does not have, such as the `escaping` of Prometheus 3,
  /// are ignored.
  fileprivate func names(_ type: AcceptedItem) -> Bool {
    value == type.value
      && parameters.allSatisfy { name, value in type.parameters[name].map { $0 == value } ?? true }
  }

  /// `0` or `1` with at most three decimals, and no more than 1 (RFC 9110, section 12.4.2).
  private static func weight(_ text: Substring) -> Double? {
    let digits = (text.prefix(1) + text.dropFirst(2)).utf8
    guard text.utf8.count <= 5, digits.allSatisfy(\.isASCIIDigit), text.dropFirst().first ?? "." == ".",
      let weight = Double(text), weight <= 1
    else { return nil }
    return weight
  }
}

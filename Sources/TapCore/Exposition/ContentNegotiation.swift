extension ExpositionFormat {
  /// The best format for the value of an `Accept` header (RFC 9110, section 12.5.1). Text 0.0.4 if there is
  /// no header or none of its formats is supported: that helps a scraper more than a 406.
  public init(accept: String?) {
    let ranges = QualityList(accept ?? "").items
    self = .text
    var best: Rank = (0, 0, 0)
    for (format, type) in Self.types {
      var rank: Rank?
      for (place, range) in ranges.enumerated() {
        // The most specific range that names a format has its weight: with 0 it is not acceptable, whatever a wildcard says.
        if let precision = range.precision(naming: type), precision > rank?.precision ?? -1 {
          rank = (range.weight, precision, -place)
        }
      }
      if let rank, rank.weight > 0, rank > best { (self, best) = (format, rank) }
    }
  }

  /// By its weight, then by how exactly the header names a format, then by the place in the header.
  private typealias Rank = (weight: Double, precision: Int, place: Int)

  private static let types = allCases.flatMap { format in
    QualityList(format.contentType).items.map { (format, $0) }
  }
}

/// The items of an `Accept` or `Accept-Encoding` header in lower case: values with parameters and a weight (RFC 9110,
/// sections 5.6.6 and 12.4.2).
///
/// Read in one pass over the bytes. An item that cannot be parsed is left out, and so is all that follows the first 64 items and
/// parameters: a client has no use for more, and could keep the queue of all connections busy with them.
struct QualityList {
  private(set) var items: [Item] = []

  /// Whether the value of an `Accept-Encoding` header (RFC 9110, section 12.5.3) prefers gzip to a body as it is.
  var prefersGzip: Bool {
    func weight(_ name: String) -> Double? { items.first { $0.value.elementsEqual(name.utf8) }?.weight }
    // "x-gzip" is the same (section 8.4.1.3), and "*" is every coding that is not named.
    let gzip = weight("gzip") ?? weight("x-gzip") ?? weight("*") ?? 0
    // Without its name, identity is acceptable but not asked for.
    return gzip > 0 && gzip >= weight("identity") ?? 0
  }

  init(_ header: String) {
    var rest = header.utf8.map(\.asciiLowercased)[...]
    var (item, isParameter): (Item?, Bool) = (nil, false)
    for _ in 0..<64 where !rest.isEmpty {
      let (part, separator) = Self.part(&rest)
      if !isParameter { item = part.isEmpty ? nil : Item(value: part) }
      if isParameter, item?.add(part) == false { item = nil }
      isParameter = separator == UInt8(ascii: ";")
      if let item, !isParameter { items.append(item) }
    }
  }

  /// Takes what comes before the next comma or semicolon outside of quoted strings (RFC 9110, section 5.6.4), without spaces and
  /// tabs around it, and that separator, `nil` at the end.
  private static func part(_ rest: inout ArraySlice<UInt8>) -> (ArraySlice<UInt8>, separator: UInt8?) {
    var isQuoted = false
    var isEscaped = false
    let end = rest.firstIndex { byte in
      switch byte {
      case _ where isEscaped: isEscaped = false
      case UInt8(ascii: "\\"): isEscaped = isQuoted
      case UInt8(ascii: "\""): isQuoted.toggle()
      case UInt8(ascii: ","), UInt8(ascii: ";"): return !isQuoted
      default: break
      }
      return false
    }
    let part = rest[..<(end ?? rest.endIndex)]
    rest = rest[part.endIndex...]
    return (part.trimmingBlanks, rest.popFirst())
  }

  struct Item: Sendable {
    let value: ArraySlice<UInt8>
    private var parameters: [(name: ArraySlice<UInt8>, value: [UInt8])] = []
    /// 0 means "not acceptable".
    private(set) var weight = 1.0

    fileprivate init(value: ArraySlice<UInt8>) { self.value = value }

    /// `false` if it cannot be read.
    fileprivate mutating func add(_ parameter: ArraySlice<UInt8>) -> Bool {
      let name = parameter.prefix { $0 != UInt8(ascii: "=") }
      let text = parameter.dropFirst(name.count + 1)
      if name.elementsEqual("q".utf8) {
        guard let weight = Self.weight(text) else { return false }
        self.weight = weight
      } else if !name.isEmpty {
        guard let value = Self.unquoted(text) else { return false }
        parameters.append((name, value))
      }
      return true
    }

    /// How exactly a media range names a type: by the first part, by both, and by each parameter that agrees. `nil` if it does not.
    /// Parameters that the type does not have, such as the `escaping` of Prometheus 3, are ignored.
    fileprivate func precision(naming type: Item) -> Int? {
      if value.elementsEqual("*/*".utf8) { return 0 }
      if value.suffix(2).elementsEqual("/*".utf8) {
        return type.value.starts(with: value.dropLast()) ? 1 : nil
      }
      guard value == type.value else { return nil }
      var precision = 2
      for (name, value) in parameters {
        guard let known = type.parameters.first(where: { $0.name == name }) else { continue }
        guard known.value == value else { return nil }
        precision += 1
      }
      return precision
    }

    /// `0` or `1` with at most three decimals, and no more than 1 (RFC 9110, section 12.4.2).
    private static func weight(_ text: ArraySlice<UInt8>) -> Double? {
      let digits = text.prefix(1) + text.dropFirst(2)
      guard text.count <= 5, digits.allSatisfy(\.isASCIIDigit),
        text.dropFirst().first ?? UInt8(ascii: ".") == UInt8(ascii: "."),
        let weight = Double(String(decoding: text, as: UTF8.self)), weight <= 1
      else { return nil }
      return weight
    }

    /// The content of a quoted string, or the token as it is. `nil` if the quotes do not end.
    private static func unquoted(_ text: ArraySlice<UInt8>) -> [UInt8]? {
      guard text.first == UInt8(ascii: "\"") else { return Array(text) }
      var content: [UInt8] = []
      var rest = text.dropFirst()
      while let byte = rest.popFirst() {
        if byte == UInt8(ascii: "\"") { return rest.isEmpty ? content : nil }
        content.append(byte == UInt8(ascii: "\\") ? rest.popFirst() ?? byte : byte)
      }
      return nil
    }
  }
}

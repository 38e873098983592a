import TapCore

/// Header fields in their order in the message (RFC 9110, section 5). Names are compared case-insensitively
/// (ASCII). A name may occur more than once.
package struct EndpointHeaders: Sendable, ExpressibleByDictionaryLiteral {
  /// All field lines, in order: their names as written, and their values without the white space around them.
  package private(set) var fields: [(name: String, value: String)] = []

  package init() {}

  package init(dictionaryLiteral elements: (String, String)...) { fields = elements.map { ($0.0, $0.1) } }

  /// The value of the first field with that name. Setting replaces all fields with that name; `nil` removes
  /// them.
  package subscript(name: String) -> String? {
    get { fields.first { $0.name.isEqualIgnoringASCIICase(to: name) }?.value }
    set {
      fields.removeAll { $0.name.isEqualIgnoringASCIICase(to: name) }
      if let newValue { add(name, newValue) }
    }
  }

  package mutating func add(_ name: String, _ value: String) { fields.append((name, value)) }

  /// The values of all fields of that name as one list (RFC 9110, section 5.3); `nil` if there is none.
  package func combined(_ name: String) -> String? {
    let values = values(of: name)
    return values.isEmpty ? nil : values.joined(separator: ", ")
  }

  package func values(of name: String) -> [String] {
    fields.compactMap { $0.name.isEqualIgnoringASCIICase(to: name) ? $0.value : nil }
  }
}

extension String {
  /// Whether both are equal up to the case of ASCII letters, as names and tokens of HTTP are compared (RFC
  /// 9110, section 5.1).
  package func isEqualIgnoringASCIICase(to other: String) -> Bool { utf8.isEqualIgnoringASCIICase(to: other) }

  /// Whether it is a list (RFC 9110, section 5.6.1) with such an element.
  func hasElement(_ token: String) -> Bool {
    utf8.split(separator: UInt8(ascii: ",")).contains {
      $0.trimmingBlanks.isEqualIgnoringASCIICase(to: token)
    }
  }
}

extension Collection<UInt8> {
  func isEqualIgnoringASCIICase(to text: String) -> Bool {
    elementsEqual(text.utf8) { $0.asciiLowercased == $1.asciiLowercased }
  }
}

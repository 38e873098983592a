import Synchronization

/// The template of a path that the app gives none for: segments that are ids by their form become `{id}`, and
/// words stay.
///
/// A function of the path alone, so that a path has the same template after a restart. Ids are numbers,
/// dates, UUIDs, ULIDs, hexadecimal numbers from eight digits on, addresses, and long tokens of mixed
/// characters, also behind a prefix (`cus_NffrFeUfNV2Hib`) and before a suffix (`{id}.json`, `{id}:cancel`).
/// The path of `/users/octocat` is its own template: by its form a name is a word.
enum LearnedPath {
  /// Paths and templates beyond these have none.
  static let pathLimit = 1_024
  static let templateLimit = RenderedLabels.maximumValueLength

  /// - Parameter path: As in a URL: percent-encoded, without query and fragment.
  /// - Returns: `nil` if the path or the template is too long.
  static func template(of path: UnsafeBufferPointer<UInt8>) -> String? {
    guard path.count <= pathLimit else { return nil }
    var template: [UInt8] = []
    template.reserveCapacity(path.count)
    var (start, before) = (0, Slice(base: path, bounds: 0..<0))
    while true {
      let segment = path[start...].prefix { $0 != .slash }
      let isFirst = before.isEmpty && start <= 1
      let isLast = segment.endIndex == path.count
      if (isFirst || before.elementsEqual("api".utf8)) && !isLast && isVersion(segment) {
        template += segment
      } else {
        append(segment, to: &template)
      }
      if isLast { break }
      template.append(.slash)
      (start, before) = (segment.endIndex + 1, segment)
    }
    guard template.count <= templateLimit else { return nil }
    return template.isEmpty ? "/" : String(decoding: template, as: UTF8.self)
  }

  private typealias Bytes = Slice<UnsafeBufferPointer<UInt8>>

  private static func append(_ segment: Bytes, to template: inout [UInt8]) {
    // Most segments are words of small letters, which nothing below would change.
    if segment.allSatisfy({ $0 &- UInt8(ascii: "a") < 26 || $0 == .dot || $0 == .hyphen || $0 == .underscore }
    ) {
      template += segment
      return
    }
    let end = segment.lastIndex { $0 == .dot || $0 == .colon } ?? segment.endIndex
    if isAddress(segment) {
      template += "{id}".utf8
    } else if end > segment.startIndex, isSuffix(segment[end...].dropFirst()), isID(segment[..<end]) {
      template += "{id}".utf8
      template += segment[end...]
    } else if isID(segment) {
      template += "{id}".utf8
    } else {
      template += segment
    }
  }

  /// The version of an API, first in its paths or behind `api`: `2`, `1.1`, `2010-04-01`.
  private static func isVersion(_ segment: Bytes) -> Bool {
    isDate(segment)
      || segment.first?.isASCIIDigit == true && segment.allSatisfy { $0.isASCIIDigit || $0 == .dot }
        && segment.split(separator: .dot, omittingEmptySubsequences: false).allSatisfy { $0.count <= 2 }
  }

  /// An extension, or the verb of a custom method.
  private static func isSuffix(_ text: Bytes) -> Bool {
    (1...16).contains(text.count) && text.allSatisfy(\.isASCIILetter)
  }

  private static func isID(_ segment: Bytes) -> Bool {
    isNumber(segment) || isAddress(segment) || isDateTime(segment) || isUUID(segment)
      || Tokens(segment).contains(where: \.isID)
  }

  /// `42`, `-1`, `52.5,13.4`, `2026-11-21`, `203.0.113.8`. Not `1.0` and `1.2.3`, which are versions.
  private static func isNumber(_ segment: Bytes) -> Bool {
    var (digits, dots, others) = (0, 0, 0)
    for byte in segment {
      switch byte {
      case _ where byte.isASCIIDigit: digits += 1
      case .dot: dots += 1
      case .hyphen, UInt8(ascii: "+"), UInt8(ascii: ","), .colon: others += 1
      default: return false
      }
    }
    return digits > 0 && (others > 0 || dots == 0 || dots == 3 || digits > 6)
  }

  /// Of mail, or of IPv6 or of hardware, with its colons as they are or escaped.
  private static func isAddress(_ segment: Bytes) -> Bool {
    guard segment.contains(where: { $0 == .colon || $0 == .at || $0 == .percent }) else { return false }
    var (hasAt, colons, isHexadecimal) = (false, 0, true)
    var index = segment.startIndex
    while index < segment.endIndex {
      var byte = segment[index]
      index += 1
      if byte == .percent, index + 2 <= segment.endIndex {
        let escape = segment[index..<(index + 2)]
        if escape.elementsEqual("40".utf8) { (byte, index) = (.at, index + 2) }
        if escape.elementsEqual("3A".utf8) || escape.elementsEqual("3a".utf8) {
          (byte, index) = (.colon, index + 2)
        }
      }
      // `@angular` is a name.
      hasAt = hasAt || byte == .at && index > segment.startIndex + 3 && index < segment.endIndex
      if byte == .colon { colons += 1 } else if !byte.isHexadecimal { isHexadecimal = false }
    }
    return hasAt || colons >= 2 && isHexadecimal
  }

  /// `2026-11-21`.
  private static func isDate(_ segment: Bytes) -> Bool {
    guard segment.count == 10 else { return false }
    for (offset, byte) in segment.enumerated() {
      guard offset == 4 || offset == 7 ? byte == .hyphen : byte.isASCIIDigit else { return false }
    }
    return true
  }

  /// `2026-11-21T09:30:00Z`.
  private static func isDateTime(_ segment: Bytes) -> Bool {
    segment.count > 11 && segment[segment.startIndex + 10] | 0x20 == UInt8(ascii: "t")
      && isDate(segment.prefix(10)) && segment[segment.startIndex + 11].isASCIIDigit
  }

  private static func isUUID(_ segment: Bytes) -> Bool {
    guard segment.count == 36 else { return false }
    for (offset, byte) in segment.enumerated() {
      let isHyphen = [8, 13, 18, 23].contains(offset)
      guard isHyphen ? byte == .hyphen : byte.isHexadecimal else { return false }
    }
    return true
  }

  /// The runs of letters and digits of a segment.
  private struct Tokens: Sequence, IteratorProtocol {
    private var rest: Bytes

    init(_ segment: Bytes) { rest = segment }

    mutating func next() -> Token? {
      while let byte = rest.first, !byte.isASCIIDigit, !byte.isASCIILetter {
        // With the two digits of an escape.
        rest = rest.dropFirst(byte == .percent ? 3 : 1)
      }
      if rest.isEmpty { return nil }
      var token = Token()
      while let byte = rest.first, byte.isASCIIDigit || byte.isASCIILetter {
        token.add(byte)
        rest = rest.dropFirst()
      }
      return token
    }
  }

  /// What the characters of a run say of it.
  private struct Token {
    private enum Kind { case none, digit, small, capital }

    /// A, E, I, O, U and Y, by their place in the alphabet.
    private static let vowels: UInt32 = 0x110_4111
    /// I, L, O and U, which a ULID does not have.
    private static let notBase32: UInt32 = 0x10_4900

    private var length = 0
    private var digits = 0
    /// The digits with a letter behind them.
    private var innerDigits = 0
    /// Numbers and words: `getUserById2` has five.
    private var units = 0
    /// From small letters to capitals and back.
    private var caseChanges = 0
    private var consonants = 0
    /// The longest row of consonants.
    private var row = 0
    private var last = Kind.none
    private var isHexadecimal = true
    private var isBase32 = true

    mutating func add(_ byte: UInt8) {
      let kind: Kind = byte.isASCIIDigit ? .digit : byte & 0x20 == 0 ? .capital : .small
      // A word may begin with a capital.
      if kind != last, !(kind == .small && last == .capital) { units += 1 }
      if kind == .small && last == .capital || kind == .capital && last == .small { caseChanges += 1 }
      if kind == .digit { digits += 1 } else { innerDigits = digits }
      let letter: UInt32 = kind == .digit ? 0 : 1 << UInt32((byte | 0x20) &- UInt8(ascii: "a"))
      consonants = letter == 0 || letter & Self.vowels != 0 ? 0 : consonants + 1
      row = max(row, consonants)
      // `0x` may come first.
      let isMark = length == 1 && digits == 1 && byte == UInt8(ascii: "x")
      if !byte.isHexadecimal, !isMark { isHexadecimal = false }
      if letter & Self.notBase32 != 0 { isBase32 = false }
      (last, length) = (kind, length + 1)
    }

    /// Random characters change between digits, small letters and capitals more often than words do, and have
    /// fewer vowels.
    var isID: Bool {
      let letters = length - digits
      // A shorter number may be a year.
      if letters == 0 { return length >= 5 }
      if digits > 0, length >= 8, isHexadecimal { return true }
      if digits > 0, length == 26, isBase32 { return true }
      // A short mark and a long number.
      if digits >= 6, innerDigits == 0, letters <= 4 { return true }
      if innerDigits > 1, length >= 8, length <= 2 * units { return true }
      if innerDigits > 0, length >= 10, length <= 3 * units { return true }
      if digits > 1, length >= 16, length <= 4 * units || length <= 2 * digits { return true }
      return length >= 12 && row >= 5 && 20 * caseChanges >= 7 * length
    }
  }
}

/// The learned templates of each server: 50, of 256 servers. What is beyond has the template `_OTHER`, so
/// that paths without ids in them, such as names of users, make no more series.
final class LearnedPaths: Sendable {
  static let templateLimit = 50
  static let hostLimit = 256

  private let known = Mutex<[String: Set<String>]>([:])

  func template(forURL url: String, of server: URLAuthority) -> String {
    var url = url
    guard let template = url.withUTF8({ LearnedPath.template(of: URLAuthority.path(in: $0)) }) else {
      return RequestLabels.other
    }
    // As a label has it: nothing bounds the host of a URL.
    let host = server.host.asLabel
    let isKnown = known.withLock { known in
      if known[host]?.contains(template) == true { return true }
      guard known[host] != nil || known.count < Self.hostLimit,
        known[host]?.count ?? 0 < Self.templateLimit
      else { return false }
      known[host, default: []].insert(template)
      return true
    }
    return isKnown ? template : RequestLabels.other
  }
}

public import TapCore

/// Which of the recent lines are wanted.
public struct LogQuery: Sendable, Hashable {
  /// The most lines, the newest ones.
  public var limit: Int
  /// The least severity.
  public var severity: LogSeverity
  /// Only lines with this `client`.
  public var client: String?
  /// Only lines of this time or later, to the microsecond.
  public var since: Timestamp?
  /// Only lines with this `trace_id`.
  public var traceID: String?

  /// The newest 100 lines, unless said otherwise.
  public init(
    limit: Int = 100, severity: LogSeverity = .trace, client: String? = nil, since: Timestamp? = nil,
    traceID: String? = nil
  ) {
    self.limit = limit
    self.severity = severity
    self.client = client
    self.since = since
    self.traceID = traceID
  }
}

extension LogQuery {
  /// Reads the query of a URL such as `/logs?limit=20&severity=warn&client=payments&since=2026-11-21T09:30:00Z`.
  ///
  /// `trace_id` asks for the lines of one trace. All five may be absent, and then count as in
  /// ``init(limit:severity:client:since:traceID:)``. Other names are ignored; of a name that stands twice the last one
  /// counts. `severity` is one of `trace`, `debug`, `info`, `warn` and `error`, in either case; `since` is a time of RFC 3339,
  /// section 5.6.
  ///
  /// - Throws: ``InvalidLogQuery`` with the name that has no such value.
  public init(items: [(name: String, value: String)]) throws(InvalidLogQuery) {
    self.init()
    for item in items {
      switch item.name {
      case "limit":
        guard let count = Int(item.value), count >= 0 else { throw .lineCount }
        limit = count
      case "severity":
        let text = item.value.uppercased()
        guard let known = LogSeverity.allCases.first(where: { $0.text == text }) else { throw .severity }
        severity = known
      case "client": client = item.value
      case "trace_id": traceID = item.value
      case "since":
        guard let time = Timestamp(rfc3339: item.value) else { throw .time }
        since = time
      default: break
      }
    }
  }
}

/// What is wrong with the query of a URL that asks for log lines.
public struct InvalidLogQuery: Error, Sendable, Hashable, CustomStringConvertible {
  /// The name of the item, and what its value has to be: one line.
  public let description: String

  static let lineCount = InvalidLogQuery(description: "limit must be a number of lines, 0 or more")
  static let severity = InvalidLogQuery(
    description: "severity must be one of " + LogSeverity.allCases.map(\.text).joined(separator: ", "))
  static let time = InvalidLogQuery(
    description: "since must be a time such as 2026-11-21T09:30:00Z (RFC 3339), from 1678 to 2262")
}

extension Timestamp {
  /// Reads a time as RFC 3339, section 5.6 has it: `2026-11-21T09:30:00.5+01:00`. What is finer than a nanosecond is cut
  /// off. `nil` if it is not such a time, or out of the range of 64 bits.
  init?(rfc3339 text: String) {
    var digits = DigitReader(text)
    guard let year = digits.number(4), digits.skip("-"), let month = digits.number(2), digits.skip("-"),
      let day = digits.number(2), digits.skip("T", "t", " "), let hour = digits.number(2), digits.skip(":"),
      let minute = digits.number(2), digits.skip(":"), let second = digits.number(2),
      let nanosecond = digits.skip(".") ? digits.fraction(9) : 0, let offset = digits.offset(), digits.isAtEnd
    else { return nil }
    let date = CivilDate(year: year, month: month, day: day)
    // A date that does not exist comes out as another one. Second 60 is a leap second, which POSIX time has not.
    guard (1...12).contains(month), CivilDate(daysSinceEpoch: date.daysSinceEpoch) == date, hour < 24,
      minute < 60, second <= 60
    else { return nil }
    let seconds = date.daysSinceEpoch * 86_400 + hour * 3_600 + minute * 60 + min(second, 59) - offset
    let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, overflow2) = whole.addingReportingOverflow(nanosecond)
    if overflow || overflow2 { return nil }
    self.init(nanosecondsSinceEpoch: sum)
  }
}

/// Reads numbers of fixed widths, and the characters between them.
private struct DigitReader {
  private var rest: Substring.UTF8View

  init(_ text: String) { rest = Substring(text).utf8 }

  var isAtEnd: Bool { rest.isEmpty }

  /// A number with exactly this many digits.
  mutating func number(_ digits: Int) -> Int64? {
    var value: Int64 = 0
    for _ in 0..<digits {
      guard let digit = digit() else { return nil }
      value = value * 10 + digit
    }
    return value
  }

  /// The digits after a decimal point, one at least, as a number with this many digits; more are cut off.
  mutating func fraction(_ digits: Int) -> Int64? {
    guard var value = digit() else { return nil }
    var count = 1
    while let digit = digit() {
      if count < digits { value = value * 10 + digit }
      count += 1
    }
    while count < digits {
      value *= 10
      count += 1
    }
    return value
  }

  /// The offset of a time from UTC in seconds: `Z`, or hours and minutes.
  mutating func offset() -> Int64? {
    if skip("Z", "z") { return 0 }
    let isWest = skip("-")
    // In the query of a URL a plus sign stands for a space.
    guard isWest || skip("+", " "), let hours = number(2), skip(":"), let minutes = number(2), hours < 24,
      minutes < 60
    else { return nil }
    return (isWest ? -1 : 1) * (hours * 3_600 + minutes * 60)
  }

  /// Goes past one of these characters, if one comes next.
  mutating func skip(_ characters: Unicode.Scalar...) -> Bool {
    guard let byte = rest.first, characters.contains(where: { $0.value == UInt32(byte) }) else {
      return false
    }
    rest.removeFirst()
    return true
  }

  private mutating func digit() -> Int64? {
    guard let byte = rest.first, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
    rest.removeFirst()
    return Int64(byte - UInt8(ascii: "0"))
  }
}

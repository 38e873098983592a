import TapCore

/// Writes one line, part by part, into memory of a fixed size. A part that does not fit is left out as a whole, and
/// how many were is the last thing that the line says.
struct LineWriter {
  private(set) var json: JSONWriter
  /// Parts that did not fit.
  private(set) var cut = 0
  /// Fields that were refused for their key.
  private(set) var refused = 0

  /// `dropped_attributes_count` is the name that the OpenTelemetry log data model has for it.
  private static let mark: StaticString = ",\"dropped_attributes_count\":"
  /// The mark, a number of at most six digits, and the end of the line.
  private static let tailLength = mark.utf8CodeUnitCount + 6 + 2

  init(_ memory: UnsafeMutablePointer<UInt8>, capacity: Int) {
    json = JSONWriter(memory, capacity: capacity)
    json.reserve(Self.tailLength)
  }

  /// What all lines begin with. The level of a line is at the same place in each of them.
  @inline(__always)
  mutating func begin(_ time: Timestamp, _ severity: LogSeverity, event: StaticString) {
    json.append("{\"timestamp\":\"")
    json.timestamp(time)
    json.append("\",\"severity\":\"")
    json.append(severity.staticText)
    json.append("\",\"event\":\"")
    json.append(event)
    json.append(.quote)
  }

  /// Writes a part of the line as a whole or not at all.
  @inline(__always)
  mutating func part(_ body: (inout JSONWriter) -> Void) {
    if !wholePart(body) { cut += 1 }
  }

  /// Writes a part of the line as a whole. Gives `false`, and counts nothing, if it does not fit.
  @inline(__always)
  mutating func wholePart(_ body: (inout JSONWriter) -> Void) -> Bool {
    let mark = json.count
    body(&json)
    guard json.isFull else { return true }
    json.rollBack(to: mark)
    json.reserve(Self.tailLength)
    return false
  }

  /// Counts fields that their keys rule out.
  mutating func refuse(_ count: Int) { refused += count }

  /// Ends the line, and gives it with its newline.
  mutating func finish() -> UnsafeRawBufferPointer {
    json.reserve(0)
    if cut + refused > 0 {
      json.append(Self.mark)
      json.integer(UInt64(min(cut + refused, 999_999)))
    }
    json.append("}\n")
    return json.bytes
  }
}

extension LogSeverity {
  /// ``text``, without the detour of a `String`.
  fileprivate var staticText: StaticString {
    switch self {
    case .trace: "TRACE"
    case .debug: "DEBUG"
    case .info: "INFO"
    case .warn: "WARN"
    case .error: "ERROR"
    }
  }
}

/// How long the parts of a line may be, in bytes before escaping.
struct LineLimits: Sendable {
  /// `url.full`, after redaction.
  var url = 2_048
  /// Names: of a client, of a host (RFC 1035: 253), a path template, the key of a field.
  var name = 256
  /// A method that is not a known one.
  var method = 64
  /// The text of a field that the app adds.
  var value = 1_024
  /// The message of a line of the app's own.
  var message = 8_192
  /// How many fields the app adds.
  var fields = 64
  /// The whole line.
  var line = 16_384
  /// The methods that appear as themselves.
  var knownMethods = KnownMethods.standard
}

/// The value of a field that an app adds to a log line. Literals of all four kinds convert.
public enum FieldValue: Sendable, Hashable {
  /// Text.
  case string(String)
  /// A whole number.
  case integer(Int64)
  /// A number. One that is not finite is written as text, because JSON has no form for it.
  case double(Double)
  /// True or false.
  case boolean(Bool)
}

extension FieldValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
  ExpressibleByBooleanLiteral
{
  /// Makes a text.
  public init(stringLiteral value: String) { self = .string(value) }
  /// Makes a whole number.
  public init(integerLiteral value: Int64) { self = .integer(value) }
  /// Makes a number.
  public init(floatLiteral value: Double) { self = .double(value) }
  /// Makes true or false.
  public init(booleanLiteral value: Bool) { self = .boolean(value) }
}

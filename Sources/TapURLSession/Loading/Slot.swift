/// A number at the type level.
///
/// Foundation makes a URLProtocol from its class alone, and a class is all that a configuration carries. So
/// each patched configuration gets a class of its own: `MetricsURLProtocol` over another slot. Slots are
/// binary numerals built when needed, so there are as many as memory holds, and no runtime trick is involved.
protocol Slot: SendableMetatype {
  /// The number that it was made for.
  static var number: Int { get }
}

/// The numeral before its first digit.
enum Zero: Slot {
  static var number: Int { 0 }
}

/// `High` followed by the binary digit 0.
enum Bit0<High: Slot>: Slot {
  static var number: Int { High.number << 1 }
}

/// `High` followed by the binary digit 1.
enum Bit1<High: Slot>: Slot {
  static var number: Int { High.number << 1 | 1 }
}

/// Makes the slot for a number from 1 up. The depth of the type is the number's bit width.
func slot(_ number: UInt) -> any Slot.Type {
  func append<High: Slot>(_ digit: UInt, to high: High.Type) -> any Slot.Type {
    digit == 0 ? Bit0<High>.self : Bit1<High>.self
  }
  return number == 0 ? Zero.self : append(number & 1, to: slot(number >> 1))
}

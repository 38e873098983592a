/// The classes of ASCII that names, URLs and HTTP are made of.
extension UInt8 {
  package var isASCIIDigit: Bool { self &- UInt8(ascii: "0") < 10 }

  package var isASCIILetter: Bool { asciiLowercased &- UInt8(ascii: "a") < 26 }

  /// The lowercase form of an ASCII letter, and any other byte itself.
  package var asciiLowercased: UInt8 { self &- UInt8(ascii: "A") < 26 ? self | 0x20 : self }
}

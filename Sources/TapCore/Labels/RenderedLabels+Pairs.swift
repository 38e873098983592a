extension RenderedLabels {
  /// The names and values, no longer escaped: for a format that does not escape.
  var pairs: [(name: [UInt8], value: [UInt8])] {
    var pairs: [(name: [UInt8], value: [UInt8])] = []
    var name: [UInt8] = []
    var value: [UInt8] = []
    var isInValue = false
    var isEscaped = false
    for byte in bytes {
      switch (isInValue, byte) {
      case (true, _) where isEscaped:
        value.append(byte == UInt8(ascii: "n") ? UInt8(ascii: "\n") : byte)
        isEscaped = false
      case (true, UInt8(ascii: "\\")): isEscaped = true
      case (true, UInt8(ascii: "\"")):
        pairs.append((name, value))
        (name, value) = ([], [])
        isInValue = false
      case (true, _): value.append(byte)
      case (false, UInt8(ascii: "\"")): isInValue = true
      case (false, UInt8(ascii: "=")), (false, UInt8(ascii: ",")): break
      case (false, _): name.append(byte)
      }
    }
    return pairs
  }
}

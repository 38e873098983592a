/// The members of an object that this library has written, `"key":value` each: split at the commas that are not in a
/// string. Such objects hold no other objects, arrays apart.
struct JSONMembers: Sequence, IteratorProtocol {
  private let text: UnsafeRawBufferPointer
  private var index: Int

  init(_ line: UnsafeRawBufferPointer) {
    text = line
    index = line.first == UInt8(ascii: "{") ? 1 : line.count
  }

  mutating func next() -> Slice<UnsafeRawBufferPointer>? {
    guard index < text.count else { return nil }
    let start = index
    var isInString = false
    var isInArray = false
    while index < text.count {
      switch text[index] {
      case .backslash where isInString: index += 1
      case .quote: isInString.toggle()
      case UInt8(ascii: "["), UInt8(ascii: "]"): if !isInString { isInArray.toggle() }
      case UInt8(ascii: ","), UInt8(ascii: "}"):
        if !isInString, !isInArray {
          defer { index += 1 }
          return text[start..<index]
        }
      default: break
      }
      index += 1
    }
    index = text.count
    return nil
  }
}

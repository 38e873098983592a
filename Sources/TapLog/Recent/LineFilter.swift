import TapCore

/// A query, prepared to be matched with many lines.
struct LineFilter: Sendable {
  private let severity: LogSeverity
  /// `"client":"…"` and `"trace_id":"…"`, as a line has them, of those that are asked for.
  private let members: [[UInt8]]
  /// As a line has it: the order of the texts is that of the times.
  private let since: [UInt8]?

  init(_ query: LogQuery) {
    severity = query.severity
    let wanted: [(key: StaticString, value: String?)] = [
      ("\"client\":", query.client), ("\"trace_id\":", query.traceID),
    ]
    members = wanted.compactMap { key, value in
      value.map { value in
        Self.rendered { json in
          json.append(key)
          json.string(value, limit: LineLimits().name)
        }
      }
    }
    since = query.since.map { time in Self.rendered { $0.timestamp(time) } }
  }

  func matches(_ line: UnsafeRawBufferPointer, severity: LogSeverity) -> Bool {
    guard severity >= self.severity else { return false }
    if let since {
      // Every line begins with {"timestamp":" and 27 characters.
      let timestamp = line.dropFirst(14).prefix(since.count)
      if timestamp.lexicographicallyPrecedes(since) { return false }
    }
    return members.allSatisfy { member in JSONMembers(line).contains { $0.elementsEqual(member) } }
  }

  private static func rendered(_ body: (inout JSONWriter) -> Void) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 2_048) { memory, count in
      guard let base = memory.baseAddress else { return }
      var json = JSONWriter(base, capacity: memory.count)
      body(&json)
      count = json.count
    }
  }
}

/// The members of an object that this library has written, `"key":value` each: split at the commas that are not in a
/// string. Such objects hold no other objects, arrays apart.
private struct JSONMembers: Sequence, IteratorProtocol {
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

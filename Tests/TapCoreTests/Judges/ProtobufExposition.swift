@testable import TapCore

/// What a reader finds in a protobuf exposition, in the terms of the text formats.
struct ProtobufExposition {
  private(set) var samples: [SampleKey: Double] = [:]
  /// By family.
  private(set) var units: [String: String] = [:]
  private(set) var histograms: [Histogram] = []
  /// The times of exemplars, in nanoseconds since 1970.
  private(set) var exemplarTimes: Set<UInt64> = []

  struct Histogram {
    let key: SampleKey
    let count: UInt64
    /// Not cumulative.
    var bucketCounts: [UInt64] = []
    /// Zero bucket, negative and positive ones.
    var nativeCount: UInt64 = 0
    var nativeBucketCount = 0
    let schema: Int64
  }

  /// `nil` if the bytes are no delimited messages, or one lacks what it must have.
  init?(_ bytes: [UInt8]) {
    guard let families = ProtobufReader.messages(bytes) else { return nil }
    for family in families {
      guard let name = family.text(1) else { return nil }
      units[name] = family.text(5)
      for metric in family.messages(4) {
        let labels = Dictionary(
          metric.messages(1).map { ($0.text(1) ?? "", $0.text(2) ?? "") }, uniquingKeysWith: { $1 })
        let key = SampleKey(name: name, labels: labels)
        if let value = (metric.messages(2) + metric.messages(3)).first?.double(1) { samples[key] = value }
        if let message = metric.messages(7).first { read(message, key) }
      }
    }
  }

  private mutating func read(_ message: ProtobufReader, _ key: SampleKey) {
    var histogram = Histogram(
      key: key, count: message.number(1) ?? 0, schema: message.number(5).map(ProtobufReader.zigZag) ?? 99)
    samples[SampleKey(name: key.name + "_count", labels: key.labels)] = Double(histogram.count)
    samples[SampleKey(name: key.name + "_sum", labels: key.labels)] = message.double(2)
    var before: UInt64 = 0
    for bucket in message.messages(3) {
      let total = bucket.number(1) ?? 0
      histogram.bucketCounts.append(total &- before)
      before = total
      var labels = key.labels
      let bound = bucket.double(2) ?? .nan
      labels["le"] = bound == .infinity ? "+Inf" : "\(bound)"
      samples[SampleKey(name: key.name + "_bucket", labels: labels)] = Double(total)
      exemplarTimes.formUnion(bucket.messages(3).flatMap { $0.messages(3) }.map(\.time))
    }
    histogram.nativeCount = message.number(7) ?? 0
    for (spans, deltas) in [(9, 10), (12, 13)] {
      var count: Int64 = 0
      let numbers = message.signedNumbers(deltas)
      for delta in numbers {
        count += delta
        histogram.nativeCount &+= UInt64(bitPattern: count)
      }
      let lengths = message.messages(spans).reduce(0) { $0 + Int($1.number(2) ?? 0) }
      histogram.nativeBucketCount += lengths == numbers.count ? lengths : 1_000_000
    }
    histograms.append(histogram)
  }
}

/// Reads protocol buffers messages field by field, as far as a test needs it.
struct ProtobufReader {
  /// The values of each field, in their order.
  private(set) var fields: [Int: [Value]] = [:]

  /// Of a `google.protobuf.Timestamp`: nanoseconds since 1970.
  var time: UInt64 { (number(1) ?? 0) * 1_000_000_000 + (number(2) ?? 0) }

  enum Value {
    case number(UInt64)
    case bytes(ArraySlice<UInt8>)
  }

  /// `nil` if the bytes are no message.
  init?(_ bytes: ArraySlice<UInt8>) {
    var rest = bytes
    while !rest.isEmpty {
      guard let tag = Self.varint(&rest) else { return nil }
      let value: Value
      switch tag & 7 {
      case 0:
        guard let number = Self.varint(&rest) else { return nil }
        value = .number(number)
      case 1:
        guard rest.count >= 8 else { return nil }
        value = .number(rest.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) })
        rest = rest.dropFirst(8)
      case 2:
        guard let length = Self.varint(&rest), length <= rest.count else { return nil }
        value = .bytes(rest.prefix(Int(length)))
        rest = rest.dropFirst(Int(length))
      default: return nil
      }
      fields[Int(tag >> 3), default: []].append(value)
    }
  }

  static func messages(_ bytes: [UInt8]) -> [ProtobufReader]? {
    var messages: [ProtobufReader] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      guard let length = varint(&rest), length <= rest.count,
        let message = ProtobufReader(rest.prefix(Int(length)))
      else { return nil }
      messages.append(message)
      rest = rest.dropFirst(Int(length))
    }
    return messages
  }

  func number(_ field: Int) -> UInt64? { if case .number(let n)? = fields[field]?.last { n } else { nil } }

  func double(_ field: Int) -> Double? { number(field).map(Double.init(bitPattern:)) }

  func text(_ field: Int) -> String? { bytes(field).last.map { String(decoding: $0, as: UTF8.self) } }

  func messages(_ field: Int) -> [ProtobufReader] { bytes(field).compactMap { ProtobufReader($0) } }

  /// A packed list of signed numbers.
  func signedNumbers(_ field: Int) -> [Int64] {
    var numbers: [Int64] = []
    for list in bytes(field) {
      var rest = list
      while let number = Self.varint(&rest) { numbers.append(Self.zigZag(number)) }
    }
    return numbers
  }

  static func zigZag(_ bits: UInt64) -> Int64 { Int64(bitPattern: bits >> 1) ^ -Int64(bitPattern: bits & 1) }

  private func bytes(_ field: Int) -> [ArraySlice<UInt8>] {
    (fields[field] ?? []).compactMap { if case .bytes(let bytes) = $0 { bytes } else { nil } }
  }

  private static func varint(_ rest: inout ArraySlice<UInt8>) -> UInt64? {
    var number: UInt64 = 0
    for shift in stride(from: UInt64(0), to: 70, by: 7) {
      guard let byte = rest.popFirst() else { return nil }
      number |= UInt64(byte & 0x7f) << shift
      if byte < 0x80 { return number }
    }
    return nil
  }
}

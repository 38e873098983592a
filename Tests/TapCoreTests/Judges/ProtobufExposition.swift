@testable import TapCore

/// What a reader finds in a protobuf exposition, in the terms of the text formats.
struct ProtobufExposition {
  private(set) var samples: [SampleKey: Double] = [:]
  private(set) var histograms: [Histogram] = []

  /// One series of a histogram.
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

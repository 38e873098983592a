/// The sample lines of one family, as both text formats write them.
struct SampleText {
  private let name: [UInt8]
  private let bucketName: [UInt8]
  /// Used again for each series.
  private var counts: [UInt64] = []

  init(name: String = "") {
    self.name = Array(name.utf8)
    bucketName = Array("\(name)_bucket{".utf8)
  }

  /// One line: `name{labels} value`.
  func append(_ value: Double, labels: RenderedLabels, suffix: String = "", to bytes: inout [UInt8]) {
    bytes.append(contentsOf: name)
    bytes.append(contentsOf: suffix.utf8)
    if !labels.bytes.isEmpty {
      bytes.append(UInt8(ascii: "{"))
      bytes.append(contentsOf: labels.bytes)
      bytes.append(UInt8(ascii: "}"))
    }
    bytes.append(UInt8(ascii: " "))
    bytes.append(contentsOf: FloatText.value(value).utf8)
    bytes.append(UInt8(ascii: "\n"))
  }

  /// The lines of a histogram: `_bucket` for each bound, `_sum`, `_count`.
  mutating func append(_ histogram: Histogram, labels: RenderedLabels, to bytes: inout [UInt8]) {
    let layout = histogram.layout
    counts.removeAll(keepingCapacity: true)
    counts.append(contentsOf: repeatElement(0, count: layout.bucketCount))
    let sum = histogram.read(into: &counts)

    var total: UInt64 = 0
    bytes.append(atMost: maximumLength(of: layout, labels: labels)) { cursor in
      cursor.write(bucketName)
      if !labels.bytes.isEmpty {
        cursor.write(labels.bytes)
        cursor.write(UInt8(ascii: ","))
      }
      cursor.write(Self.le)
      let beginning = 0..<cursor.count
      for index in counts.indices {
        if index > 0 { cursor.repeatBytes(in: beginning) }
        total &+= counts[index]
        cursor.write(layout.sampleEnds[index])
        cursor.write(decimal: total)
        cursor.write(UInt8(ascii: "\n"))
      }
    }
    append(sum, labels: labels, suffix: "_sum", to: &bytes)
    append(Double(total), labels: labels, suffix: "_count", to: &bytes)
  }

  private static let le = Array("le=\"".utf8)
  private static let maximumDigits = 20

  private func maximumLength(of layout: BucketLayout, labels: RenderedLabels) -> Int {
    let line = bucketName.count + labels.bytes.count + 1 + Self.le.count + Self.maximumDigits + 1
    return layout.bucketCount * line + layout.sampleEndsLength
  }
}

/// What a cell of a histogram holds beside the counts of its classic buckets.
struct HistogramCell: StripedCellHeader {
  var sum = 0.0
  var native = NativeBuckets()
  /// The latest exemplar of each classic bucket; empty until there is one.
  var exemplars: [Exemplar?] = []

  mutating func keep(_ exemplar: Exemplar, bucket: Int, of bucketCount: Int) {
    if exemplars.isEmpty { exemplars = Array(repeating: nil, count: bucketCount) }
    exemplars[bucket] = exemplar
  }
}

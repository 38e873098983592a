/// What a cell of a histogram holds beside the counts of its classic buckets.
struct HistogramCell: StripedCellHeader {
  var sum = 0.0
}

/// What a cell of ``StripedCells`` holds beside its counters.
protocol StripedCellHeader: Sendable {
  /// An empty cell.
  init()
}

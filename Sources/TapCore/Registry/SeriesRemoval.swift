/// A family whose series are named by labels at run time and can be removed.
protocol SeriesRemoval {
  /// Removes the series with these labels. `false` if there is none.
  func remove(_ labels: RenderedLabels) -> Bool
  /// Removes all series.
  func removeAll()
}

extension Registry {
  /// Removes one series that was made with run-time labels, from the next scrape on.
  ///
  /// Whoever keeps its instrument goes on recording unseen; to ask for the series again makes a new one. Typed families
  /// have ``Family/remove(_:)``.
  ///
  /// - Parameters:
  ///   - name: the metric's name, as it was registered.
  ///   - labels: the labels of the series, in any order.
  /// - Returns: whether there was such a series.
  @discardableResult
  public func removeSeries(of name: String, labels: Labels) -> Bool {
    removableFamily(name)?.remove(RenderedLabels(labels.pairs)) ?? false
  }

  /// Removes all series of a metric. Its name stays taken.
  public func removeAllSeries(of name: String) {
    removableFamily(name)?.removeAll()
  }
}

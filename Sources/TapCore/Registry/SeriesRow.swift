/// What a table keeps under one label set: an instrument for each column.
protocol SeriesRow: AnyObject, Sendable {
  /// What has been recorded up to some moment.
  associatedtype Mark: Sendable

  /// A number that changes with every record. `nil` for a row that is in use and does not expire.
  var activity: UInt64? { get }
  /// What a column shows, or `nil` where nothing has been recorded in it.
  func content(of column: Int) -> GatheredFamily.Content?
  /// What has been recorded up to now.
  var mark: Mark { get }
  /// Moves what was recorded after a mark to another row.
  func move(after mark: Mark, to other: Self)
}

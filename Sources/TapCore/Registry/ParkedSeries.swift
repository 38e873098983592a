/// An expired series, as long as the app keeps its instrument: it comes back when something is recorded.
struct ParkedSeries<Element: AnyObject & Sendable>: Sendable {
  private(set) weak var element: Element?
  let created: Timestamp
  let activity: UInt64

  init(_ series: Series<Element>, activity: UInt64) {
    element = series.element
    created = series.created
    self.activity = activity
  }
}

/// One series of a family: its labels and its instrument.
final class Series<Element: AnyObject & Sendable>: Sendable {
  let labels: RenderedLabels
  let element: Element
  let created: Timestamp
  /// Only where the family lets series expire.
  let idleMark: IdleMark?

  init(labels: RenderedLabels, element: Element, created: Timestamp, expires: Bool) {
    self.labels = labels
    self.element = element
    self.created = created
    idleMark = expires ? IdleMark() : nil
  }
}

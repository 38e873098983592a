/// One series of a family: its labels and its instrument.
final class Series<Element: AnyObject & Sendable>: Sendable {
  let labels: RenderedLabels
  let element: Element
  let created: Timestamp

  init(labels: RenderedLabels, element: Element, created: Timestamp) {
    self.labels = labels
    self.element = element
    self.created = created
  }
}

import TapCore

/// A typed key as an app would write it.
struct JobLabels: LabelSet {
  var kind: String
  var queue: String?
  var attempt: Int?

  static let labels = [Label("queue", \JobLabels.queue), Label("kind", \.kind), Label("attempt", \.attempt)]
}

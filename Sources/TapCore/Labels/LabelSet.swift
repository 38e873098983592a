/// The typed key of a labelled family: a small value whose fields become labels.
///
///     struct JobLabels: LabelSet {
///       var kind: String
///       var queue: String?
///
///       static let labels: [Label<JobLabels>] = [Label("kind", \.kind), Label("queue", \.queue)]
///     }
///
/// The names are checked once, when the family is registered; the values are rendered once, when a series is
/// made. A value that is `nil` or empty leaves its label out, because Prometheus takes an empty label for an
/// absent one.
public protocol LabelSet: Hashable, Sendable {
  /// The labels of the family, in any order. Read once, at registration.
  static var labels: [Label<Self>] { get }
}

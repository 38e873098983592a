/// The labels that requests of one direction have at their end.
protocol RequestSeriesKey: Sendable {
  /// What is recorded.
  associatedtype Request: EndedRequest
  /// What is known of its labels from its start.
  associatedtype Target

  /// Takes the values over, which must be within their limits.
  init(_ request: Request, target: Target)
  /// Whether a request has these labels.
  func matches(_ request: Request, target: Target) -> Bool
  /// The labels, by name. An empty value leaves its label out.
  func pairs(_ methods: KnownMethods) -> [Labels.Pair]
}

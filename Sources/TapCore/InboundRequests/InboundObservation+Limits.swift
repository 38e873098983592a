extension InboundObservation {
  private static let limit = RenderedLabels.maximumValueLength

  /// Every text that becomes a label is short enough to be one.
  @inline(__always)
  var isWithinLimits: Bool { route?.utf8.count ?? 0 <= Self.limit }

  /// The observation with what is too long cut, so that a key made of it has a bound.
  func withinLimits() -> InboundObservation {
    var cut = self
    cut.route = route.map { String($0.prefix(utf8Length: Self.limit)) }
    return cut
  }
}

extension RequestDescription {
  private static let limit = RenderedLabels.maximumValueLength

  /// Every text that becomes a label is short enough to be one.
  @inline(__always)
  var isWithinLimits: Bool {
    client.utf8.count <= Self.limit && serverAddress?.utf8.count ?? 0 <= Self.limit
      && urlTemplate?.utf8.count ?? 0 <= Self.limit
  }

  /// The description with what is too long cut, so that a key made of it has a bound.
  func withinLimits() -> RequestDescription {
    var cut = self
    cut.client = String(client.prefix(utf8Length: Self.limit))
    cut.serverAddress = serverAddress.map { String($0.prefix(utf8Length: Self.limit)) }
    cut.urlTemplate = urlTemplate.map { String($0.prefix(utf8Length: Self.limit)) }
    return cut
  }
}

extension RequestObservation {
  /// The observation with what is too long in its description cut.
  func withinLimits() -> RequestObservation {
    var cut = self
    cut.request = request.withinLimits()
    return cut
  }
}

extension ExpositionFormat {
  /// The best format for the value of an `Accept` header (RFC 9110, section 12.5.1); text 0.0.4 where there is none,
  /// or nothing that it names can be given: a scraper gets more from that than from a 406.
  public init(accept: String?) {
    self = .text
    guard let accept else { return }
    let ranges = QualityList(accept).items
    var best = Match.none
    for format in Self.allCases {
      guard let match = format.match(in: ranges), match.quality > 0, match.isBetter(than: best) else {
        continue
      }
      best = match
      self = format
    }
  }

  /// How well a format is liked: by its weight, then by how exactly the header names it, then by its place in the
  /// header.
  private struct Match {
    let quality: Double
    let precision: Int
    let place: Int

    static let none = Match(quality: 0, precision: -1, place: .max)

    func isBetter(than other: Match) -> Bool {
      (quality, precision, -place) > (other.quality, other.precision, -other.place)
    }
  }

  /// The most specific range that names this format: its weight is the one that counts.
  private func match(in ranges: [QualityList.Item]) -> Match? {
    let mediaType = mediaType
    var best: Match?
    for (place, range) in ranges.enumerated() {
      let precision: Int
      switch range.value {
      case mediaType.value:
        guard let matched = matchedParameters(of: range, mediaType.parameters) else { continue }
        precision = 2 + matched
      case mediaType.value.prefix { $0 != "/" } + "/*": precision = 1
      case "*/*": precision = 0
      default: continue
      }
      if precision > best?.precision ?? -1 {
        best = Match(quality: range.quality, precision: precision, place: place)
      }
    }
    return best
  }

  /// How many parameters of a range name this format's; `nil` if one differs. Parameters that the format does not
  /// have, such as the `escaping` of Prometheus 3, tell nothing.
  private func matchedParameters(of range: QualityList.Item, _ own: [String: String]) -> Int? {
    var matched = 0
    for (name, value) in own {
      guard let asked = range.parameters[name] else { continue }
      guard asked.lowercased() == value.lowercased() else { return nil }
      matched += 1
    }
    return matched
  }

  private var mediaType: (value: String, parameters: [String: String]) {
    switch self {
    case .text: ("text/plain", ["version": "0.0.4", "charset": "utf-8"])
    case .openMetrics: ("application/openmetrics-text", ["version": "1.0.0", "charset": "utf-8"])
    case .protobuf:
      (
        "application/vnd.google.protobuf",
        ["proto": "io.prometheus.client.MetricFamily", "encoding": "delimited"]
      )
    }
  }
}

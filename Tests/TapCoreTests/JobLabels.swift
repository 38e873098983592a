import TestSupport

@testable import TapCore

/// A typed key as an app would write it.
struct JobLabels: LabelSet {
  var kind: String
  var queue: String?
  var attempt: Int?

  static let labels = [Label("queue", \JobLabels.queue), Label("kind", \.kind), Label("attempt", \.attempt)]
}

extension Registry {
  /// The samples of a scrape some seconds after another time.
  func samples(_ seconds: Int, after start: Instant) -> [String] {
    Exposition(of: gather(at: start.advanced(by: .seconds(seconds))), in: .text).text.split(separator: "\n")
      .filter { !$0.hasPrefix("#") }.map(String.init)
  }
}

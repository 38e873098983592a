import TestSupport

@testable import TapCore

extension Registry {
  /// The samples of a scrape some seconds after another time.
  func samples(_ seconds: Int, after start: Instant) -> [String] {
    Exposition(of: gather(at: start.advanced(by: .seconds(seconds))), in: .text).text.split(separator: "\n")
      .filter { !$0.hasPrefix("#") }.map(String.init)
  }
}

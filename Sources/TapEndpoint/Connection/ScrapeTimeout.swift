/// The `X-Prometheus-Scrape-Timeout-Seconds` of a request. A 503 that says why beats an answer that comes
/// when the scraper has hung up: that one tells the user nothing.
enum ScrapeTimeout {
  private static let name = "X-Prometheus-Scrape-Timeout-Seconds"

  /// How long an answer may take so that it arrives in time. `nil` without the field, or if it is no positive
  /// number.
  static func answerTime(_ request: EndpointRequest) -> Duration? {
    guard let text = request.headers[name], let seconds = Double(text), seconds > 0, seconds < 86_400 else {
      return nil
    }
    return time(within: .seconds(seconds))
  }

  /// What must be over a little before: a tenth of the time is left for the way, but between 50 ms and half a second.
  static func time(within timeout: Duration) -> Duration {
    max(timeout - min(max(timeout / 10, .milliseconds(50)), .milliseconds(500)), .milliseconds(1))
  }
}

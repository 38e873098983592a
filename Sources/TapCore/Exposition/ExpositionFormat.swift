/// The formats that a scraper can ask for.
public enum ExpositionFormat: String, Sendable, Hashable, CaseIterable {
  /// The Prometheus text format, version 0.0.4.
  case text

  /// The media type of an answer in this format. Prometheus 3 fails a scrape whose media type it does not know.
  public var contentType: String {
    switch self {
    case .text: "text/plain; version=0.0.4; charset=utf-8"
    }
  }

  /// The best format for the value of an `Accept` header; text 0.0.4 where there is none.
  init(accept: String?) {
    self = .text
  }
}

/// The formats that a scraper can ask for.
public enum ExpositionFormat: String, Sendable, Hashable, CaseIterable {
  /// The Prometheus text format, version 0.0.4.
  case text
  /// OpenMetrics 1.0: text with units, exemplars and the time when each series began.
  case openMetrics = "openmetrics"
  /// Prometheus's protocol buffers, delimited: the only format with native histograms.
  case protobuf

  /// The media type of an answer in this format. Prometheus 3 fails a scrape whose media type it does not know.
  public var contentType: String {
    switch self {
    case .text: "text/plain; version=0.0.4; charset=utf-8"
    case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
    case .protobuf:
      "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
    }
  }
}

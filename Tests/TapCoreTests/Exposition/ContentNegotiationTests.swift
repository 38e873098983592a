import TestSupport

@testable import TapCore

struct ContentNegotiationTests {
  /// What Prometheus 2.42 and 3 send.
  private static let plain =
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
    + "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
  private static let native =
    "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited," + plain
  private static let escaping =
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
    + "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"

  @Test func `chooses the format`() {
    let (plain, native, escaping) = (Self.plain, Self.native, Self.escaping)
    let rows: [(accept: String?, format: ExpositionFormat)] = [
      (nil, .text), ("", .text), ("*/*", .text), ("text/html", .text),
      (plain, .openMetrics), (native, .protobuf), (escaping, .openMetrics),
      ("application/openmetrics-text", .openMetrics), ("application/openmetrics-text; version=0.0.1", .text),
      ("application/openmetrics-text, text/plain", .openMetrics),
      ("text/plain, application/openmetrics-text", .text),
      ("application/openmetrics-text;q=0.5, text/plain;q=0.9", .text),
      ("*/*, application/openmetrics-text", .openMetrics),
      ("TEXT/PLAIN;Q=0.9, Application/OpenMetrics-Text;Version=1.0.0;Q=1", .openMetrics),
      ("application/openmetrics-text;version=\"1.0.0\"", .openMetrics),
      ("application/vnd.google.protobuf;proto=\"a,b;c\", text/plain;q=0.1", .text),
      ("application/vnd.google.protobuf;encoding=text", .text),
      ("application/openmetrics-text;q=2, text/plain;q=0.1", .text),
      (
        "application/openmetrics-text;q=0.1, text/plain;q=0.5, application/openmetrics-text;version=1.0.0;q=0.9",
        .openMetrics
      ),
      ("application/openmetrics-text;q=x", .text), (",,;;q=,\"", .text),
      // Of two that say the same, the first.
      ("application/openmetrics-text, application/openmetrics-text;q=0, text/plain;q=0.5", .openMetrics),
      ("application/openmetrics-text; ", .openMetrics), ("application/openmetrics-text;q", .text),
      ("application/openmetrics-text;q=0", .text),
      // Weights (section 12.4.2), quoted strings and quoted pairs (5.6.4), parameters (5.6.6).
      ("application/openmetrics-text;q=0., text/plain;q=0.1", .text),
      ("application/openmetrics-text;q=1.001", .text), ("application/openmetrics-text;q=0.5000", .text),
      ("application/openmetrics-text;q=\"1\"", .text), ("application/openmetrics-text;q=0x1", .text),
      ("application/openmetrics-text;q=0.1e0", .text), ("application/openmetrics-text;q=+.5", .text),
      // A parameter ends with its item, and what cannot be read spoils no other item.
      ("application/openmetrics-text;version=1.0.0=1", .text),
      // Parameters that the type does not have say nothing.
      (
        "application/openmetrics-text;escaping=a;q=0.1, application/openmetrics-text;version=1.0.0, text/plain;q=0.5",
        .openMetrics
      ),
      ("application/openmetrics-text ;\tversion=\"\\1.0.0\" ; q=0.7 , text/plain;q=0.6", .openMetrics),
      ("text/html;a=\"\\\";, \", application/openmetrics-text", .openMetrics),
      (String(repeating: ",", count: 50) + "application/openmetrics-text", .openMetrics),
    ]
    let formats = rows.map { NegotiatedFormat(accept: $0.accept).format }
    #expect(formats == rows.map(\.format))
  }

  /// Prometheus, "Scrape protocol content negotiation" and "UTF-8 metric and label name escaping schemes".
  @Test func `the content type names the escaping that was asked for with the format`() {
    let (metrics, text) = (ExpositionFormat.openMetrics.contentType, ExpositionFormat.text.contentType)
    let protobuf = ExpositionFormat.protobuf.contentType
    let type = "application/openmetrics-text;version=1.0.0"
    let rows: [(accept: String?, contentType: String)] = [
      (nil, text), (Self.plain, metrics), (Self.native, protobuf),
      (Self.escaping, "\(metrics); escaping=allow-utf-8"),
      ("\(protobuf);escaping=underscores", "\(protobuf); escaping=underscores"),
      ("text/plain;version=0.0.4;escaping=values", "\(text); escaping=values"),
      ("\(type);Escaping=\"Allow-UTF-8\"", "\(metrics); escaping=allow-utf-8"),
      // Names with underscores are not escaped by `dots`.
      ("\(type);escaping=dots", "\(metrics); escaping=underscores"),
      // Neither what is no scheme, nor that of another item.
      ("\(type);escaping=\"a\r\nb: c\"", metrics), ("\(type);escaping=", metrics),
      ("\(type);escaping", metrics),
      ("\(type);escaping=dots;q=0.1, text/plain", text), ("text/html;escaping=dots, \(type)", metrics),
    ]
    expectEqual(rows.map { NegotiatedFormat(accept: $0.accept).contentType }, rows.map(\.contentType))
  }

  @Test func `reads 64 items, and 63 parameters of each`() {
    let type = "application/openmetrics-text"
    let counts = [63, 64, 8_000]
    let items = counts.map { NegotiatedFormat(accept: String(repeating: "a,", count: $0) + type) }
    let parameters = counts.map { NegotiatedFormat(accept: type + String(repeating: ";a", count: $0)) }
    #expect(
      [items.map(\.format), parameters.map(\.format)] == [
        [.openMetrics, .text, .text], [.openMetrics, .text, .text],
      ])
  }

  @Test func `chooses the coding`() {
    let rows: [(accepted: String?, isCompressed: Bool)] = [
      (nil, false), ("", false), ("gzip", true), ("GZIP", true), ("x-gzip", true), ("gzip;q=0", false),
      ("gzip;q=0.000", false), ("gzip;q=0.001", true), ("*", true), ("*;q=0", false), ("gzip;q=0, *", false),
      ("deflate, gzip;q=1.0, *;q=0.5", true), ("br", false), ("identity, gzip;q=0.5", false),
      ("identity;q=0.5, gzip", true), ("gzip;q=nonsense", false), ("gzip;q=1.5", false),
      ("x-gzip;q=0, *", false), ("gzip;a=1;q=0", false), ("identity, gzip", true),
      ("gzip;q=0.5, *", true), ("x-gzip, gzip;q=0", false), ("gzip;q=0, gzip", false),
      ("gzip;q=2, x-gzip", true),
    ]
    let isCompressed = rows.map { Gzip.isPreferred(by: $0.accepted) }
    #expect(isCompressed == rows.map(\.isCompressed))
  }

  @Test func `content types are those that Prometheus knows`() {
    #expect(ExpositionFormat.allCases.map(\.rawValue) == ["text", "openmetrics", "protobuf"])
    #expect(
      ExpositionFormat.allCases.map(\.contentType) == [
        "text/plain; version=0.0.4; charset=utf-8",
        "application/openmetrics-text; version=1.0.0; charset=utf-8",
        "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited",
      ])
  }
}

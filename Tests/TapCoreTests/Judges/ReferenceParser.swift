import Foundation
import TapCore
import TestSupport

/// The parsers of the Prometheus client for Python, the reference for both text formats.
enum ReferenceParser {
  /// Whether a test that asks them is to run.
  static var isUsable: Bool { Tool.isUsable(python: "prometheus_client") }

  /// What the parser reads in an exposition; throws with the parser's words where it refuses.
  static func parse(_ exposition: Exposition) async throws -> [Sample] {
    let module = exposition.format == .openMetrics ? "openmetrics.parser" : "parser"
    let result = try await Tool("python3").run(["-c", script, module], input: exposition.bytes)
    guard result.status == 0, let lines = result.output.data(using: .utf8) else {
      throw Refusal(words: String(result.output.suffix(600)))
    }
    return try JSONDecoder().decode([Sample].self, from: lines)
  }

  /// One line of an exposition.
  struct Sample: Decodable, Hashable {
    let name: String
    let labels: [String: String]
    /// As Python writes it, which reads back as the same value.
    let value: String
    /// The labels of its exemplar.
    let exemplar: [String: String]?

    var key: SampleKey { SampleKey(name: name, labels: labels) }
    var number: Double {
      switch value {
      case "inf": .infinity
      case "-inf": -.infinity
      default: Double(value) ?? .nan
      }
    }
  }

  struct Refusal: Error, CustomStringConvertible {
    let words: String
    var description: String { words }
  }

  private static let script = """
    import importlib, json, sys
    parser = importlib.import_module("prometheus_client." + sys.argv[1])
    text = sys.stdin.buffer.read().decode("utf-8", "strict")
    print(json.dumps([
        {"name": s.name, "labels": s.labels, "value": repr(float(s.value)),
         "exemplar": s.exemplar.labels if s.exemplar else None}
        for f in parser.text_string_to_metric_families(text) for s in f.samples]))
    """
}

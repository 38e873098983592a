import TestSupport

@testable import TapCore

@Suite(.usesReferenceParser) struct ReferenceParserTests {
  /// What the parser reads is what was recorded, to the last bit.
  @Test(arguments: [ExpositionFormat.text, .openMetrics])
  func `reads back what was recorded`(format: ExpositionFormat) async throws {
    let judged = try JudgedRegistry()
    var read: [SampleKey: Double] = [:]
    for sample in try await ReferenceParser.parse(judged.registry.exposition(in: format)) {
      #expect(read.updateValue(sample.number, forKey: sample.key) == nil)
    }
    #expect(read == judged.samples)
  }

  /// The parser leaves out a sample that is there twice: each line has to be one that it read.
  @Test(arguments: 1...Extent.of(1, extensive: 6), [ExpositionFormat.text, .openMetrics])
  func `reads whatever a registry takes`(seed: Int, format: ExpositionFormat) async throws {
    let registry = ClashingFamilies.registry(seed: seed)
    let exposition = registry.exposition(in: format)
    let lines = exposition.text.split(separator: "\n")
    let samples = try await ReferenceParser.parse(exposition)
    #expect(samples.count == lines.count { !$0.hasPrefix("#") })
    #expect(Set(samples.map(\.key)).count == samples.count)
    #expect(samples.count > 20)
  }

  @Test func `accepts the metrics of requests with exemplars`() async throws {
    let registry = try Registry.withOwnMetrics()
    let samples = try await ReferenceParser.parse(registry.exposition(in: .openMetrics))
    let exemplars = samples.filter { $0.exemplar != nil }
    let names = ["request_body_size_bytes", "request_duration_seconds", "response_body_size_bytes"]
    #expect(
      exemplars.map(\.name).sorted()
        == (names + ["time_to_first_byte_seconds"]).map { "http_client_\($0)_bucket" })
    let trace = ["trace_id": "0af7651916cd43dd8448eb211c80319c", "span_id": "b7ad6b7169203331"]
    #expect(exemplars.first?.exemplar == trace)
    #expect(try await ReferenceParser.parse(registry.exposition()).count > 30)
  }
}

@Suite(.enabled(if: Tool.isUsable("promtool"), "promtool is not installed")) struct PromtoolTests {
  @Test func `reads whatever is hard to write, and has no advice about our own metrics`() async throws {
    func check(_ registry: Registry) async throws -> Tool.Result {
      try await Tool("promtool").run(["check", "metrics"], input: registry.exposition().body)
    }
    let result = try await check(JudgedRegistry().registry)
    // 3 is for advice about names; 1 would be a parse error.
    #expect(result.status == 0 || result.status == 3, "\(result.output)")
    let own = try await check(.withOwnMetrics())
    #expect(own.status == 0, "\(own.output)")
  }
}

extension Registry {
  /// The metrics of a tap, with a request that has a trace and all else.
  static func withOwnMetrics() throws -> Registry {
    let registry = Registry()
    let metrics = try RequestDriver(registry: registry)
    try registry.register(ProcessMetrics())
    try registry.register(TargetInfo(serviceName: "shop", resourceAttributes: nil))
    try registry.register(BuildInfo())
    _ = ScrapeHandler(registry: registry) { $0() }
    let request = RequestObservation.whole(.outbound, .response(statusCode: 200))
    metrics.requestStarted(request.request)
    metrics.requestEnded(request)
    return registry
  }
}

/// The parsers of the Prometheus client for Python, the reference for both text formats.
enum ReferenceParser {
  /// What the parser reads in an exposition; throws with the parser's words where it refuses.
  static func parse(_ exposition: Exposition) async throws -> [Sample] {
    let module = exposition.format == .openMetrics ? "openmetrics.parser" : "parser"
    let result = try await Tool("python3").run(["-c", script, module], input: exposition.body)
    guard result.status == 0, let lines = result.output.data(using: .utf8) else {
      throw Refusal(words: String(result.output.suffix(600)))
    }
    return try JSONDecoder().decode([Sample].self, from: lines)
  }

  struct Sample: Decodable, Hashable {
    let name: String
    let labels: [String: String]
    /// As Python writes it, which reads back as the same value.
    let value: String
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

extension Trait where Self == ConditionTrait {
  /// The test runs where the reference parser is installed.
  static var usesReferenceParser: ConditionTrait {
    .enabled("the Python package prometheus_client is not installed") {
      await Tool.isUsable(python: "prometheus_client")
    }
  }
}

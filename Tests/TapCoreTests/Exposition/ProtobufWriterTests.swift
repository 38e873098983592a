import TestSupport

@testable import TapCore

/// The messages field by field, by their numbers in `metrics.proto`.
struct ProtobufWriterTests {
  private let labels = RenderedLabels(Labels(["kind": "a\"b"]).pairs)

  private func message(
    _ name: String, _ type: MetricType, help: String = "", unit: String? = nil,
    _ content: GatheredFamily.Content
  ) throws -> String? {
    let descriptor = try FamilyDescriptor(name: name, help: help, type: type, unit: unit)
    let family = GatheredFamily(
      descriptor, overflowCount: nil, droppedCount: 0,
      series: [(labels: labels, content: content)])
    let messages = ProtobufReader.messages(Exposition(of: [family], in: .protobuf).body)
    return messages?.map(\.allFields).joined(separator: "\n")
  }

  @Test func `a number is in the field of its type`() throws {
    let labels = #"1:{1:"kind" 2:"a"b"}"#
    let counter = GatheredFamily.Content.number(3.5)
    #expect(try message("g", .gauge, .number(-2.5)) == #"1:"g" 3:1 4:{\#(labels) 2:{1:-2.5}}"#)
    #expect(try message("app_info", .info, .number(1)) == #"1:"app_info" 3:1 4:{\#(labels) 2:{1:1.0}}"#)
    for (name, type) in [("a_total", MetricType.counter), ("jobs", .legacyCounter)] {
      #expect(
        try message(name, type, help: "Done.", counter)
          == #"1:"\#(name)" 2:"Done." 3:0 4:{\#(labels) 3:{1:3.5}}"#)
    }
  }

  @Test func `a histogram has all its parts`() throws {
    var values = ValueHistogram(BucketLayout([0, 1.5]))
    for value in [-4.0, 0, 1, 1, 1, 2] { values.record(value) }
    let trace = try #require(
      TraceContext(traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"))
    values.keep(Exemplar(value: 1, timestamp: Timestamp(nanosecondsSinceEpoch: -1), trace: trace))
    #expect(
      try message("wait_seconds", .histogram, help: "Waits.", unit: "seconds", .histogram(values)) == #"""
        1:"wait_seconds" 2:"Waits." 3:4 4:{1:{1:"kind" 2:"a"b"} 7:{1:6 2:1.0 \#
        3:{1:2 2:0} \#
        3:{1:5 2:1.5 3:{1:{1:"trace_id" 2:"4bf92f3577b34da6a3ce929d0e0e4736"} \#
        1:{1:"span_id" 2:"00f067aa0ba902b7"} 2:1.0 3:{1:-1 2:999999999}}} \#
        3:{1:6 2:inf} \#
        5:16 6:2.938735877055719e-39 7:1 \#
        9:{1:1024 2:1} 10:[2] \#
        12:{1:0 2:1} 12:{1:510 2:1} 13:[6, 3]}} 5:"seconds"
        """#)
  }
}

extension ProtobufReader {
  /// Ordered by their numbers. What is no text is a message, and what is no message a packed list.
  fileprivate var allFields: String {
    fields.sorted { $0.key < $1.key }
      .flatMap { field, values in values.map { "\(field):\(Self.text(of: $0))" } }
      .joined(separator: " ")
  }

  private static func text(of value: Value) -> String {
    switch value {
    case .number(let bits):
      if bits < 1 << 32 { return "\(bits)" }
      return bits == .max ? "-1" : "\(Double(bitPattern: bits))"
    case .bytes(let bytes):
      if bytes.allSatisfy({ 0x20..<0x7f ~= $0 }) { return "\"\(String(decoding: bytes, as: UTF8.self))\"" }
      return ProtobufReader(bytes).map { "{\($0.allFields)}" } ?? "\(Array(bytes))"
    }
  }
}

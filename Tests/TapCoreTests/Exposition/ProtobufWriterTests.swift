import TestSupport

@testable import TapCore

/// The messages field by field, by their numbers in `metrics.proto`.
struct ProtobufWriterTests {
  private let labels = RenderedLabels(Labels(["kind": "a\"b"]).pairs)

  private func message(
    _ name: String, _ type: MetricType, help: String = "", unit: String? = nil,
    _ contents: GatheredFamily.Content...
  ) throws -> String? {
    let descriptor = try FamilyDescriptor(name: name, help: help, type: type, unit: unit)
    let labels = [labels, RenderedLabels([Labels.Pair]())]
    let family = GatheredFamily(
      descriptor, overflowCount: nil, droppedCount: 0,
      series: zip(labels, contents).map { (labels: $0, content: $1) })
    let messages = ProtobufReader.messages(Exposition(of: [family], in: .protobuf).body)
    return messages?.map(\.allFields).joined(separator: "\n")
  }

  @Test func `a number is in the field of its type`() throws {
    let labels = #"1:{1:"kind" 2:"a"b"}"#
    let counter = GatheredFamily.Content.number(3.5)
    let gauge = try message("g", .gauge, .number(-2.5), .number(.infinity))
    #expect(gauge == #"1:"g" 3:1 4:{\#(labels) 2:{1:-2.5}} 4:{2:{1:inf}}"#)
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

/// Reads protocol buffers messages field by field, as far as a test needs it.
private struct ProtobufReader {
  private enum Value {
    case number(UInt64)
    case bytes(ArraySlice<UInt8>)
  }

  private var fields: [(number: Int, value: Value)] = []

  /// `nil` if the bytes are no message.
  init?(_ bytes: ArraySlice<UInt8>) {
    var rest = bytes
    while !rest.isEmpty {
      guard let tag = Self.varint(&rest) else { return nil }
      let value: Value
      switch tag & 7 {
      case 0:
        guard let number = Self.varint(&rest) else { return nil }
        value = .number(number)
      case 1:
        guard rest.count >= 8 else { return nil }
        value = .number(rest.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) })
        rest = rest.dropFirst(8)
      case 2:
        guard let length = Self.varint(&rest), length <= rest.count else { return nil }
        value = .bytes(rest.prefix(Int(length)))
        rest = rest.dropFirst(Int(length))
      default: return nil
      }
      fields.append((Int(tag >> 3), value))
    }
  }

  static func messages(_ bytes: [UInt8]) -> [ProtobufReader]? {
    var messages: [ProtobufReader] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      guard let length = varint(&rest), length <= rest.count,
        let message = ProtobufReader(rest.prefix(Int(length)))
      else { return nil }
      messages.append(message)
      rest = rest.dropFirst(Int(length))
    }
    return messages
  }

  private static func varint(_ rest: inout ArraySlice<UInt8>) -> UInt64? {
    var number: UInt64 = 0
    for shift in stride(from: UInt64(0), to: 70, by: 7) {
      guard let byte = rest.popFirst() else { return nil }
      number |= UInt64(byte & 0x7f) << shift
      if byte < 0x80 { return number }
    }
    return nil
  }

  /// Those of a number stand in their order.
  var allFields: String {
    let numbers = Set(fields.map(\.number)).sorted()
    return numbers.flatMap { number in fields.filter { $0.number == number } }
      .map { "\($0.number):\(Self.text(of: $0.value))" }.joined(separator: " ")
  }

  /// What is no text is a message, and what is no message a packed list.
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

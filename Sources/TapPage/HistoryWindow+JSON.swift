import TapCore

/// The history as the page reads it.
///
/// ```json
/// {"slot_s": 5, "covered_s": 432.1, "bounds": {"outbound": [0.005, 0.01], "inbound": [0.005, 0.01]},
///  "parties": [{"direction": "outbound", "client": "payments", "server_address": "api.example.com", "server_port": "443"}],
///  "slots": [{"age_s": 12.3, "totals": [[0, 1.25, 1, 0, 4, 7]]}]}
/// ```
///
/// A party has the labels that it has in the metrics. Of a slot there is when it began, and for each party that had requests its
/// place in the list, the sum of their durations, the number of errors and those in each bucket; zeros at the end are left out.
extension HistoryWindow {
  func json(at now: Instant) -> [UInt8] {
    var text = JSONText()
    let covered = covered(at: now)
    text.append("{\"slot_s\":\(Self.slotNanoseconds / 1_000_000_000),\"covered_s\":\(Self.seconds(covered))")
    text.append(",\"bounds\":{\"outbound\":[\(Self.list(outboundBounds))],")
    text.append("\"inbound\":[\(Self.list(inboundBounds))]},\"parties\":[")
    for (index, party) in parties.enumerated() {
      if index > 0 { text.append(",") }
      text.append(party)
    }
    text.append("],\"slots\":[")
    var isFirst = true
    for slot in slots {
      let age = now.nanoseconds &- slot.number * Self.slotNanoseconds
      // Slots are dropped only when a request is added: an idle app may still hold old ones.
      guard age < covered + Self.slotNanoseconds else { continue }
      text.append("\(isFirst ? "" : ","){\"age_s\":\(Self.seconds(max(0, age))),\"totals\":[")
      isFirst = false
      for (index, totals) in slot.totals.enumerated() {
        text.append("\(index > 0 ? "," : "")[\(totals.place),\(totals.sum),\(totals.errors)")
        for count in totals.counts.prefix(through: totals.counts.lastIndex { $0 > 0 } ?? 0) {
          text.append(",\(count)")
        }
        text.append("]")
      }
      text.append("]}")
    }
    text.append("]}\n")
    return text.bytes
  }

  private static func seconds(_ nanoseconds: Int64) -> String { "\(Double(nanoseconds / 1_000_000) / 1e3)" }

  private static func list(_ bounds: [Double]) -> String {
    bounds.map { "\($0)" }.joined(separator: ",")
  }
}

/// Builds a JSON text.
private struct JSONText {
  private(set) var bytes: [UInt8] = []

  /// Adds what is JSON already.
  mutating func append(_ json: String) { bytes.append(contentsOf: json.utf8) }

  mutating func append(_ party: HistoryWindow.Party?) {
    let members: [(String, String)] =
      switch party {
      case .outbound(let client, let address, let port):
        [
          ("direction", "outbound"), ("client", client), ("server_address", address ?? ""),
          ("server_port", port.map(String.init) ?? ""),
        ]
      case .inbound(let method, let route):
        [("direction", "inbound"), ("http_request_method", method), ("http_route", route ?? "")]
      case .other(let direction): [("direction", direction.rawValue), ("otel_metric_overflow", "true")]
      case nil: []
      }
    append("{")
    // As in the metrics, a label without a value is left out.
    for (index, member) in members.filter({ !$0.1.isEmpty }).enumerated() {
      append("\(index > 0 ? "," : "")\"\(member.0)\":")
      appendString(member.1)
    }
    append("}")
  }

  /// Escapes what RFC 8259, section 7 demands: quotation mark, backslash and the control characters.
  private mutating func appendString(_ text: String) {
    append("\"")
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
      case ..<0x20: append("\\u00\(byte < 16 ? "0" : "")\(String(byte, radix: 16))")
      default: bytes.append(byte)
      }
    }
    append("\"")
  }
}

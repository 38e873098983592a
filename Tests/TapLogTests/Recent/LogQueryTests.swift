import TapCore
import Testing

@testable import TapLog

@Suite struct LogQueryTests {
  @Test
  func `is read from the items of a URL's query`() throws {
    #expect(try LogQuery(items: []) == LogQuery())
    #expect(
      try LogQuery(items: [
        ("limit", "5"), ("limit", "20"), ("severity", "Warn"), ("client", "payments"), ("follow", "1"),
        ("since", "2026-11-21T09:30:00.123456Z"), ("trace_id", "4bf92f3577b34da6a3ce929d0e0e4736"),
      ])
        == LogQuery(
          limit: 20, severity: .warn, client: "payments",
          since: Timestamp(nanosecondsSinceEpoch: 1_795_253_400_123_456_000),
          traceID: "4bf92f3577b34da6a3ce929d0e0e4736"))
  }

  @Test(
    arguments: [
      ("limit", "-1", "limit must be"), ("limit", "", "limit must be"),
      ("limit", "9999999999999999999", "limit must be"),
      ("severity", "loud", "one of TRACE, DEBUG, INFO, WARN, ERROR"), ("since", "yesterday", "RFC 3339"),
    ])
  func `says which item has no such value`(name: String, value: String, reason: String) {
    let error = #expect(throws: InvalidLogQuery.self) { try LogQuery(items: [(name, value)]) }
    #expect(error?.description.contains(reason) == true)
  }

  @Test(
    arguments: [
      ("1970-01-01T00:00:00Z", 0), ("1970-01-01 00:00:00.000000001z", 1),
      ("1970-01-01t00:00:00.1234567899Z", 123_456_789), ("1985-04-12T23:20:50.52Z", 482_196_050_520_000_000),
      ("1996-12-19T16:39:57-08:00", 851_042_397_000_000_000),
      ("1990-12-31T23:59:60Z", 662_687_999_000_000_000), ("1969-12-31T23:59:59Z", -1_000_000_000),
      ("1970-01-01T01:00:00 01:00", 0), ("1970-01-01T01:00:00+01:00", 0),
      ("2000-02-29T00:00:00Z", 951_782_400_000_000_000),
    ])
  func `takes the times of RFC 3339`(text: String, expected: Int64) {
    #expect(Timestamp(rfc3339: text)?.nanosecondsSinceEpoch == expected)
  }

  @Test(
    arguments: [
      "", "2026", "2026-11-21", "2026-11-21T09:30:00", "2026-11-21T09:30Z", "2026-11-21T09:30:00.Z",
      "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-02-29T00:00:00Z", "2026-11-31T00:00:00Z",
      "2026-11-00T00:00:00Z", "2026-11-21T24:00:00Z", "2026-11-21T09:60:00Z", "2026-11-21T09:30:61Z",
      "2026-11-21T09:30:00+24:00", "2026-11-21T09:30:00+0100", "2026-11-21T09:30:00Z ",
      "0000-01-01T00:00:00Z",
      "9999-12-31T23:59:59Z", "２026-11-21T09:30:00Z", "-026-11-21T09:30:00Z",
    ])
  func `takes no other text for a time`(text: String) {
    #expect(Timestamp(rfc3339: text) == nil)
  }
}

import TapLog
import Testing

@Suite struct LogQueryTests {
  @Test func `is read from the items of a URL's query`() throws {
    let query = try LogQuery(items: [
      ("limit", "5"), ("limit", "20"), ("severity", "Warn"), ("client", "payments"), ("other", "1"),
      ("trace_id", "4bf92f3577b34da6a3ce929d0e0e4736"), ("after", "7"),
    ])
    #expect(query.limit == 20 && query.severity == .warn && query.client == "payments" && query.after == 7)
    #expect(query.traceID == "4bf92f3577b34da6a3ce929d0e0e4736")
  }

  @Test(arguments: [
    ("limit", "-1", "limit must be"), ("limit", "", "limit must be"),
    ("limit", "9999999999999999999", "limit must be"), ("after", "-1", "after must be"),
    ("after", "last", "after must be"), ("severity", "loud", "one of TRACE, DEBUG, INFO, WARN, ERROR"),
  ])
  func `says which item has no such value`(name: String, value: String, reason: String) {
    let error = #expect(throws: LogQuery.Invalid.self) { try LogQuery(items: [(name, value)]) }
    #expect(error?.description.contains(reason) == true)
  }
}

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
    let least = try LogQuery(items: [("limit", "0"), ("after", "0")])
    #expect(least.limit == 0 && least.after == 0)
  }

  @Test func `asks for the newest 100 lines, of any kind, by default`() throws {
    for query in try [LogQuery(), LogQuery(items: [])] {
      #expect(query.limit == 100 && query.severity == .trace && query.after == nil)
      #expect(query.client == nil && query.traceID == nil)
    }
  }

  @Test(arguments: [
    ("limit", "-1", "a number of lines, 0 or more"), ("limit", "", "a number of lines, 0 or more"),
    ("limit", "9999999999999999999", "a number of lines, 0 or more"),
    ("after", "-1", "the number of a line, 0 or more"),
    ("after", "last", "the number of a line, 0 or more"),
    ("severity", "loud", "one of TRACE, DEBUG, INFO, WARN, ERROR"),
  ])
  func `says which item has no such value`(name: String, value: String, reason: String) {
    let error = #expect(throws: LogQuery.Invalid.self) { try LogQuery(items: [(name, value)]) }
    #expect(error?.description == "\(name) must be \(reason)")
  }
}

import Testing

/// Dashboards, rules and consoles name what the library emits, and the boards show all of it. Who renames a metric or
/// a label has to change both sides.
@Suite struct DashboardContractTests {
  private let contract: DashboardContract

  init() async throws {
    contract = DashboardContract(emitted: try await .everything(), folder: try DashboardFolder())
  }

  @Test func `every metric and label that is named is emitted`() {
    #expect(contract.unknown == [])
  }

  @Test func `every metric that is emitted is on a board`() {
    #expect(contract.unseen == [])
  }

  @Test func `no query is longer than a person can edit`() {
    // As it is written; what is between two words is one blank.
    let longest = 400
    let lengths = contract.folder.all.map { query in
      (query, query.expression.split(whereSeparator: \.isWhitespace).joined(separator: " ").count)
    }
    #expect(lengths.filter { $1 > longest }.map { "\($0.place), \($1): \($0.expression)" } == [])
  }

  @Test func `a metric that is renamed is missed`() throws {
    for family in contract.emitted.types.keys {
      var renamed = contract
      renamed.emitted = contract.emitted.without(family)
      #expect(renamed.unknown.contains { $0.contains("metric \(family)") }, "\(family)")
    }
  }

  @Test(
    arguments: [
      "client", "http_request_method", "server_address", "server_port", "http_response_status_code",
      "error_type",
      "url_template", "network_protocol_version", "phase", "outcome", "otel_metric_overflow", "reason",
      "level", "format", "code", "path", "version", "transfer_info", "connection_info", "metric", "http_route", "url_scheme",
      "service_version",
    ])
  func `a label that is renamed is missed`(label: String) {
    var renamed = contract
    #expect(contract.emitted.labels.values.contains { $0.contains(label) })
    renamed.emitted = contract.emitted.without(label: label)
    #expect(renamed.unknown.contains { $0.contains("label \(label)") })
  }
}

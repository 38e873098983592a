import TestSupport

/// Boards and rules name what the library emits, and the boards show all of it. Who renames a
/// metric or a label has to change both sides.
@Suite struct DashboardContractTests {
  private let contract: DashboardContract

  init() async throws { contract = try await .init(emitted: .everything(), folder: DashboardFolder()) }

  @Test func `every metric and label that is named is emitted, and every metric is on a board`() {
    let (folder, bounded) = (contract.folder, contract.emitted.bounded)
    #expect(folder.boards.count > 50 && folder.rules.count > 20 && !folder.recorded.isEmpty)
    // Every metric of requests is emitted: else no other test here would miss it.
    #expect(bounded.count > 15 && bounded.subtracting(contract.emitted.types.keys) == [])
    #expect(contract.unknown == [])
    #expect(contract.unseen == [])
  }

  /// The recorded series that the other rules read keeps every label of a request.
  @Test func `the recorded requests keep every label`() throws {
    let rule = contract.folder.rules.first { $0.expression.contains("otel_metric_overflow) (rate(") }
    let labels = contract.emitted.labels["http_client_request_duration_seconds"]
    #expect(try #require(rule).names.grouping.subtracting(["job"]) == labels?.subtracting(["le"]))
  }

  @Test func `the article lists every metric and its labels`() throws {
    let emitted = contract.emitted.labels.mapValues { $0.subtracting(["le", "otel_metric_overflow"]) }
    let listed = try ArticleMetrics().labels
    #expect(Set(listed.keys).union(emitted.keys).filter { listed[$0] != emitted[$0] } == [])
  }

  @Test func `no query is longer than a person can edit`() {
    // As it is written; what is between two words is one blank.
    let long = contract.folder.all.filter {
      $0.expression.split(whereSeparator: \.isWhitespace).joined(separator: " ").count > 400
    }
    #expect(long.map { "\($0.place): \($0.expression)" } == [])
  }

  @Test func `a metric or a label that is renamed is missed`() {
    let labels: Set = [
      "client", "http_request_method", "server_address", "server_port", "http_response_status_code",
      "error_type", "url_template", "network_protocol_version", "phase", "otel_metric_overflow",
      "reason", "level", "format", "code", "path", "version", "transfer_info", "connection_info", "metric",
      "http_route", "url_scheme", "service_version", "witness",
    ]
    func isMissed(_ text: String, _ renamed: EmittedMetrics) -> Bool {
      with(contract) { $0.emitted = renamed }.unknown.contains { $0.contains(text) }
    }
    let emitted = contract.emitted
    #expect(emitted.labels.values.reduce(labels) { $0.subtracting($1) } == [])
    #expect(labels.filter { !isMissed("label \($0)", emitted.without(label: $0)) } == [])
    #expect(emitted.types.keys.filter { !isMissed("metric \($0)", emitted.without($0)) } == [])
  }
}

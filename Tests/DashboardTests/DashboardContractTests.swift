import TestSupport

/// Boards and rules name what the library emits, and the boards show all of it. Who renames a
/// metric or a label has to change both sides.
@Suite struct DashboardContractTests {
  private let contract: DashboardContract

  init() async throws { contract = try await .init(emitted: .everything(), folder: DashboardFolder()) }

  @Test func `boards and rules are found`() {
    #expect(contract.folder.boards.count > 50)
    #expect(contract.folder.rules.count > 20)
    #expect(!contract.folder.recorded.isEmpty)
  }

  @Test func `every metric and label that is named is emitted`() { #expect(contract.unknown == []) }

  @Test func `every metric that is emitted is on a board`() { #expect(contract.unseen == []) }

  /// Else no other test here would miss it.
  @Test func `every metric of requests is emitted`() {
    #expect(contract.emitted.bounded.count > 15)
    #expect(contract.emitted.bounded.subtracting(contract.emitted.types.keys) == [])
  }

  /// The recorded series that the other rules read keeps every label of a request.
  @Test func `the recorded requests keep every label`() throws {
    let record = "job:http_client_request_duration_seconds_count:rate5m"
    let rule = try #require(
      contract.folder.rules.first { $0.expression.contains("otel_metric_overflow) (rate(") })
    let labels = try #require(contract.emitted.labels["http_client_request_duration_seconds"])
    #expect(
      PromQLNames(rule.expression).grouping.subtracting(["job"]) == labels.subtracting(["le"]), "\(record)")
  }

  @Test func `the article lists every metric and its labels`() throws {
    let listed = try ArticleMetrics()
    #expect(Set(listed.labels.keys).symmetricDifference(contract.emitted.types.keys) == [])
    for (metric, labels) in contract.emitted.labels {
      guard let expected = listed.labels[metric] else { continue }
      #expect(labels.subtracting(["le", "otel_metric_overflow"]) == expected, "\(metric)")
    }
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
    for family in contract.emitted.types.keys.sorted().prefix(Extent.of(5, extensive: .max)) {
      var renamed = contract
      renamed.emitted = contract.emitted.without(family)
      #expect(renamed.unknown.contains { $0.contains("metric \(family)") }, "\(family)")
    }
  }

  @Test func `a label that is renamed is missed`() {
    let labels = [
      "client", "http_request_method", "server_address", "server_port", "http_response_status_code",
      "error_type", "url_template", "network_protocol_version", "phase", "otel_metric_overflow",
      "reason", "level", "format", "code", "path", "version", "transfer_info", "connection_info", "metric",
      "http_route", "url_scheme", "service_version", "witness",
    ]
    for label in labels {
      expectEqual(contract.emitted.labels.values.contains { $0.contains(label) }, true, "\(label)")
    }
    for label in labels.prefix(Extent.of(5, extensive: .max)) {
      var renamed = contract
      renamed.emitted = contract.emitted.without(label: label)
      expectEqual(renamed.unknown.contains { $0.contains("label \(label)") }, true, "\(label)")
    }
  }
}

import TestSupport

/// The value of a sample, as a test of an app asks for it.
@Suite struct RegistryValueTests {
  @Test func `it is the sum over the series that have the labels`() throws {
    let registry = Registry()
    for (kind, shop, count) in [("a", "x", 1), ("b", "x", 2), ("b", "y\"\\\n", 4)] {
      try registry.counter("jobs_total", help: "", labels: ["kind": kind, "shop": shop]).increment(by: count)
    }
    let rows: [([String: String], Double?)] = [
      ([:], 7), (["kind": "b"], 6), (["kind": "b", "shop": "y\"\\\n"], 4), (["kind": "a", "shop": "y"], nil),
      (["kind": "a", "other": ""], 1), (["other": "z"], nil),
    ]
    #expect(rows.map { registry.value(of: "jobs_total", labels: $0.0) } == rows.map(\.1))
    #expect(["jobs", "jobs_total_of_all", "none"].compactMap { registry.value(of: $0) } == [])
  }

  /// As the exposition has it, a label value has at most 256 bytes.
  @Test func `a long label value is found by its whole text`() throws {
    let registry = Registry()
    let long = String(repeating: "é", count: 200)
    try registry.counter("jobs_total", help: "", labels: ["kind": long]).increment()
    #expect(registry.value(of: "jobs_total", labels: ["kind": long]) == 1)
  }

  @Test func `a metric may have any number of callbacks`() throws {
    let registry = Registry()
    for number in 0..<2_500 { try registry.gauge("depth", help: "", labels: ["queue": "\(number)"]) { 1 } }
    // Of two with the same labels the first stays.
    #expect(throws: RegistryError.self) {
      try registry.gauge("depth", help: "", labels: ["queue": "7"]) { 2 }
    }
    #expect(registry.value(of: "depth") == 2_500)
  }

  /// The second answer is one that a counter refuses.
  @Test func `a callback is asked once`() throws {
    let registry = Registry()
    let answers = Mutex([3, Double.nan])
    try registry.counter("jobs_total", help: "") { answers.withLock { $0.isEmpty ? -1 : $0.removeFirst() } }
    #expect(registry.value(of: "jobs_total") == 3)
    #expect(registry.value(of: "jobs_total") == nil)
    #expect(answers.withLock { $0.isEmpty })
  }

  @Test func `a histogram has a count and a sum, a gauge its value`() throws {
    let registry = Registry()
    let histogram = try registry.histogram("wait_seconds", help: "")
    histogram.record(0.5)
    histogram.record(2.5)
    try registry.gauge("queue", help: "").set(-3)
    try registry.gauge("queue_count", help: "").set(9)
    let names = ["wait_seconds_count", "wait_seconds_sum", "wait_seconds", "queue", "queue_count"]
    #expect(names.map { registry.value(of: $0) } == [2, 3, nil, -3, 9])
  }

  @Test(arguments: [
    ("a_total", "a"), ("a", "a"), ("a_created", "a"), ("g", "g"), ("h", "h"), ("h_bucket", "h"),
    ("h_sum", "h"), ("h_count", "h"), ("h_created", "h"), ("session_tap_build", "session_tap_build"),
    ("session_tap_build_info", "session_tap_build"), ("h_", ""),
  ])
  func `an exposition is limited to the metrics that are named, or a sample of theirs`(
    name: String, metric: String
  ) throws {
    let registry = Registry()
    try registry.counter("a_total", help: "").increment()
    try registry.gauge("g", help: "").set(1)
    try registry.histogram("h", help: "").record(1)
    try registry.register(BuildInfo())
    let text = registry.exposition(in: .openMetrics, names: [name, "none"]).text
    let types = text.matches(of: /TYPE (\w+)/).map { String($0.1) }
    #expect(types == [metric].filter { !$0.isEmpty })
  }
}

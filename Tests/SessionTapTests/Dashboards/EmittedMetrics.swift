import SessionTap
import TestSupport

/// What the library emits: the labels of each family, read from its own exposition.
struct EmittedMetrics {
  /// The type of each family, by its name in the text format.
  private(set) var types: [String: String] = [:]
  private(set) var labels: [String: Set<String>] = [:]
  /// The families that have a bound, whether or not a series of them has occurred: all those of requests.
  private(set) var bounded: Set<String> = []

  /// A tap that has an observer and a black box, has served a scrape and has one that outlives its request,
  /// and request metrics that have seen a request of every kind.
  static func everything() async throws -> EmittedMetrics {
    var emitted = EmittedMetrics()
    emitted.read(try requests().exposition(in: .text))

    let (folder, memory) = (try TemporaryFolder(), try TemporaryFolder(isInMemory: true))
    var endpoint = Endpoint.Configuration(address: .loopback(port: 0))
    endpoint.limits.answerTimeout = .milliseconds(100)
    var configuration = Tap.Configuration(environment: ["OTEL_SERVICE_NAME": "shop"])
    configuration.log = .file(folder("requests.jsonl"))
    configuration.blackBox = memory("requests")
    configuration.observers = [CallingObserver()]
    configuration.endpoint = endpoint
    let tap = try Tap.start(configuration)
    let port = try #require(tap.address?.port)
    // On a busy machine a scrape may miss the deadline, too. It counts without a format then.
    for _ in 0..<100 { if try await RawClient.status("/metrics", port: port) == "200" { break } }
    // A scrape is counted when its answer has been sent, which may be after it was received.
    emitted.read(
      try await Poll.until("the count of the scrape") {
        let exposition = tap.registry.exposition(in: .text)
        return exposition.text.contains("session_tap_scrapes_total{code=\"200\"") ? exposition : nil
      })
    // The next gathering outlives its request.
    let (isFirst, end) = (Watched(true), Gate())
    try tap.registry.gauge("refused_work", help: "Work.") {
      if isFirst.state {
        isFirst.change { $0 = false }
        end.waitBlocking()
      }
      return 1
    }
    _ = try await RawClient.get("/metrics", port: port)
    emitted.read(
      try await Poll.until("the count of the handler") {
        let exposition = tap.registry.exposition(in: .text)
        return exposition.text.contains("session_tap_overdue_handlers{") ? exposition : nil
      })
    end.open()
    await tap.shutdown()
    return emitted
  }

  /// Requests that have every label, one that fails without a response, and more series than there is room
  /// for.
  private static func requests() throws -> Registry {
    let registry = Registry()
    let metrics = try RequestDriver(registry: registry) { $0.series.limit = 2 }
    let ends: [RequestEnd] = [.response(statusCode: 503), .failure(.timeout, statusCode: nil), .cancelled]
    for (number, end) in ends.enumerated() {
      var observation = RequestObservation.whole(.outbound, end)
      observation.request.serverAddress = "api\(number).example.com"
      metrics.requestStarted(observation.request)
      metrics.requestEnded(observation)
    }
    serveRequests(metrics.recorder)
    try registry.register(ProcessMetrics())
    try registry.register(TargetInfo(serviceName: "shop", resourceAttributes: "service.version=1.2"))
    // A value that no instrument can take.
    try registry.gauge("refused", help: "A gauge.").set(.nan)
    try registry.histogram("refused_seconds", help: "A histogram.").record(.nan)
    return registry
  }

  /// Requests that have every label, and more series of them than there is room for.
  private static func serveRequests(_ recorder: RequestRecorder) {
    for method in ["GET", "POST", "PUT"] {
      let served = recorder.inbound.begin(method: method, path: "/orders", scheme: "https")
      recorder.outbound.begin(client: "stock", method: "GET", url: "/", trace: served.trace.child())
        .end(statusCode: 200)
      let route = method == "GET" ? "/orders" : "/orders/\(method)"
      served.responseBegan(statusCode: 503, protocolVersion: .http11)
      served.end(statusCode: 503, route: route, requestBodySize: 10, responseBodySize: 20)
    }
    recorder.inbound.begin(method: "GET", path: "/orders").cancel()
  }

  /// The family of a metric as a query names it, `nil` if nothing emits it.
  func family(of metric: String) -> String? {
    if types[metric] != nil { return metric }
    return ["_bucket", "_count", "_sum"].lazy.filter(metric.hasSuffix)
      .map { String(metric.dropLast($0.count)) }.first { types[$0] == "histogram" }
  }

  /// The labels of such a metric. The native form of a histogram has the family's own name, and no `le`.
  func labels(of metric: String) -> Set<String>? {
    family(of: metric).flatMap { labels[$0] }?.subtracting(metric.hasSuffix("_bucket") ? [] : ["le"])
  }

  /// The same without a family: what is left when somebody renames it.
  func without(_ family: String) -> EmittedMetrics {
    with(self) { ($0.types[family], $0.labels[family]) = (nil, nil) }
  }

  func without(label: String) -> EmittedMetrics {
    with(self) { $0.labels = labels.mapValues { $0.subtracting([label]) } }
  }

  private mutating func read(_ exposition: Exposition) {
    var family = ""
    for line in exposition.text.split(separator: "\n") {
      if line.hasPrefix("# TYPE ") {
        let words = line.split(separator: " ")
        family = String(words[2])
        guard !family.hasPrefix("refused") else { continue }
        types[family] = String(words[3])
        labels[family, default: []] = labels[family] ?? []
      } else if !line.hasPrefix("#"), !family.hasPrefix("refused") {
        labels[family]?.formUnion(line.matches(of: /[{,]([a-z_]+)="/).map { String($0.1) })
        let bound = line.firstMatch(of: /^session_tap_series_overflow_total{metric="([^"]+)"/)
        if let bound { bounded.insert(String(bound.1)) }
      }
    }
  }
}

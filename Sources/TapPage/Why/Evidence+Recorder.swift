import TapCore

extension Evidence {
  /// For how long a request is active before it is looked at, with those that wait for longer than the limit.
  static let ageLimit = Duration.seconds(5)
  static let activeLimit = 100

  init(_ recorder: RequestRecorder, at now: Instant) {
    self.init(
      recorder, recorder.waitingRequests(atMost: Self.activeLimit, at: now, orFor: Self.ageLimit), at: now)
  }

  /// - Parameter waiting: The requests that may hang.
  init(_ recorder: RequestRecorder, _ waiting: WaitingRequests, at now: Instant) {
    self.init(now: now, time: .now, start: now, isWhole: true)
    var steps: [Instant: Step] = [:]
    for direction in RequestDirection.allCases {
      guard let window = recorder.history(of: direction, at: now) else { continue }
      start = min(start, Instant(nanoseconds: now.nanoseconds &- window.covered))
      isWhole = isWhole && window.isWhole
      Self.add(window, direction, to: &steps)
    }
    self.steps = steps.values.sorted { $0.begin < $1.begin }
    active = Self.active(waiting)
    (held, unstarted) = (waiting.held, waiting.unstartedCount)
    previousEnd = recorder.blackBox?.previous.flatMap { Self.sentence($0, at: time) }
  }

  private static func add(
    _ window: RequestHistory.Window, _ direction: RequestDirection, to steps: inout [Instant: Step]
  ) {
    // The labels of a series are the same in each slot.
    var known: [[UInt8]: (kind: RequestKind, failure: String?, isAnswered: Bool)] = [:]
    var methods: [String: Set<String>] = [:]
    for addition in window.slots.lazy.flatMap(\.additions) where known[addition.labels] == nil {
      let (labels, kind) = (addition.labelValues, RequestKind(addition.labelValues, direction))
      // As `RequestObservation.isAnswered`: what failed took the time of its failure, and what was cancelled
      // has no status.
      let (failure, status) = (failure(labels), labels["http_response_status_code"])
      known[addition.labels] = (kind, failure, status != nil && failure.map(Tally.isRefusal) ?? true)
      methods[kind.path, default: []].insert(kind.method)
    }
    for slot in window.slots {
      var step = steps[slot.begin] ?? Step(begin: slot.begin)
      step.busyProcessors = step.busyProcessors ?? slot.busyProcessors
      for addition in slot.additions {
        guard let (whole, failure, isAnswered) = known[addition.labels] else { continue }
        var kind = whole
        if !kind.isMade, methods[kind.path]?.count != 1 { kind.method = "" }
        step.tallies[kind, default: Tally()] += Tally(addition, failure, isAnswered, window.bounds)
      }
      for (route, time) in slot.upstream {
        let path = route.path ?? ""
        let method = methods[path].flatMap { $0.count == 1 ? $0.first : nil } ?? ""
        step.tallies[RequestKind(isMade: false, method: method, path: path), default: Tally()] +=
          Tally(time, isAnswered: route.isAnswered)
      }
      steps[slot.begin] = step
    }
  }

  /// A 4xx that the app answers has no error type, because its caller made the mistake.
  private static func failure(_ labels: [String: String]) -> String? {
    labels["error_type"] ?? labels["http_response_status_code"].flatMap { Tally.isRefusal($0) ? $0 : nil }
  }

  /// What is known of the end of the process before this one, in the first ten minutes after it.
  private static func sentence(_ end: BlackBoxContent, at time: Timestamp) -> String? {
    let age = time.nanosecondsSinceEpoch &- end.lastSign.nanosecondsSinceEpoch
    guard (0...600_000_000_000).contains(age) else { return nil }
    let oldest = end.requests.first.map { request in
      let kind = RequestKind(request.request)
      return
        ", the oldest \(kind.isMade ? "of \(Words.client(kind.client)) to" : "served at") \(kind.name), since \(Words.time(request.start))"
    }
    return "The process before this one (\(end.processID)) ended without a shutdown; it was last seen at "
      + "\(Words.time(end.lastSign)) with \(Words.count(end.requestCount, "active request"))\(oldest ?? "")."
  }

  private static func active(_ waiting: WaitingRequests) -> [Active] {
    waiting.oldest.map { request in
      let limit = waiting.limits[request.request.direction == .outbound ? 0 : 1] ?? .seconds(Int64.max)
      let causes =
        request.wait == .request
        ? waiting.oldest.indices.filter { waiting.oldest[$0].isMade(within: request) } : []
      return Active(
        kind: RequestKind(request.request), age: request.duration.seconds, wait: request.wait,
        idle: request.knownIdleTime?.seconds, limit: limit.seconds, causes: causes)
    }
  }
}

extension Tally {
  fileprivate init(
    _ addition: RequestHistory.Addition, _ failure: String?, _ isAnswered: Bool, _ bounds: [Double]
  ) {
    count = addition.counts.reduce(0) { $0 + Int($1) }
    if let failure { failures = [failure: count] }
    let phases = RequestTimings.Phase.allCases.reduce(into: [:]) { phases, phase in
      phases[phase] = addition.account.timings[nanoseconds: phase].map { Double($0) / 1e9 }
    }
    if failure == RequestErrorType.timeout.rawValue {
      timeouts = Spent(time: addition.sum, phases: phases)
    }
    guard isAnswered else { return }
    (answered, seconds) = (count, addition.sum)
    let counts = zip([0] + bounds, addition.counts).filter { $1 > 0 }.map { ($0, Int($1)) }
    buckets = Dictionary(counts) { $1 }
    longest = addition.slowest.map { Double($0.nanoseconds) / 1e9 } ?? 0
    self.phases = phases
  }
}

extension Tally {
  /// What the calls of a route's requests took.
  fileprivate init(_ time: UpstreamTime, isAnswered: Bool) {
    let clients = Dictionary(
      time.clients.map { ($0.name, Upstream(calls: $0.requestCount, seconds: $0.duration.seconds)) },
      uniquingKeysWith: +)
    calls = clients.mapValues(\.calls)
    guard isAnswered else { return }
    self.clients = clients
    upstream = Upstream(calls: time.requestCount, seconds: time.duration.seconds)
  }
}

extension RequestKind {
  init(_ labels: [String: String], _ direction: RequestDirection) {
    isMade = direction == .outbound
    method = labels["http_request_method"] ?? ""
    path = labels[isMade ? "url_template" : "http_route"] ?? ""
    guard isMade else { return }
    client = labels["client"] ?? ""
    server = Self.server(labels["server_address"], labels["server_port"])
  }

  init(_ request: RequestDescription) {
    isMade = request.direction == .outbound
    (method, path) = (request.methodLabel, request.urlTemplate?.asLabel ?? "")
    guard isMade else { return }
    client = request.client.asLabel
    server = Self.server(request.serverAddress?.asLabel, request.serverPort.map(String.init))
  }

  private static func server(_ address: String?, _ port: String?) -> String {
    guard let port, port != "80", port != "443" else { return address ?? "" }
    return "\(address ?? ""):\(port)"
  }
}

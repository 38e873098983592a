import TapCore

/// Writes the lines of requests: one JSON object each, its keys the attribute names of the OpenTelemetry HTTP
/// conventions, always in the same order. What is unknown is absent.
struct RequestLineEncoder: Sendable {
  /// The allowed headers, by name, and their keys in the line.
  private typealias Headers = [(name: String, key: String)]

  private let fields: LineFields
  /// Those of a line with a message.
  private let ownFields: LineFields
  private let redactor: RequestRedactor
  private let requestHeaders: Headers
  private let responseHeaders: Headers

  init(_ configuration: RequestLog.Configuration) {
    fields = LineFields(shared: configuration.fields, reserved: .request)
    ownFields = LineFields(shared: configuration.fields, reserved: .app)
    let redaction = configuration.redaction
    redactor = RequestRedactor(redaction)
    requestHeaders = redaction.headers.request.map { ($0, "http.request.header.\($0)") }
    responseHeaders = redaction.headers.response.map { ($0, "http.response.header.\($0)") }
  }

  /// A request that has ended.
  func write(_ observation: borrowing RequestObservation, to line: inout LineWriter) {
    let isInbound = observation.request.direction == .inbound
    line.begin(
      observation.endTime, observation.severity,
      event: isInbound ? "http.server.request" : "http.client.request")
    target(of: observation.request, isInbound: isInbound, to: &line)
    line.part { line in
      line.member("server.port", observation.request.serverPort)
      line.member("http.response.status_code", observation.statusCode)
      line.member("error.type", observation.errorType)
      times(of: observation, to: &line)
      connection(of: observation, to: &line)
      // A negative size is none, and counted by the metrics.
      line.member("http.request.body.size", observation.requestBodySize, atLeast: 0)
      line.member("http.response.body.size", observation.responseBodySize, atLeast: 0)
      // OpenTelemetry: there "if and only if request was retried", so not as 0.
      line.member("http.request.resend_count", observation.resendCount, atLeast: 1)
      if observation.isFromCache { line.append(",\"from_cache\":true") }
      line.member("outcome", observation.outcome.rawValue)
      line.trace(observation.request.traceContext)
    }
    // A part of its own: what may be left out of a long line.
    text("exception.type", observation.exceptionType, to: &line)
    text("exception.message", observation.errorMessage, to: &line)
    headers(observation.request.headers, requestHeaders, to: &line)
    headers(observation.responseHeaders, responseHeaders, to: &line)
    fields.write(redactor.shown(observation.request.fields), to: &line)
  }

  /// A request that has not ended, and may never.
  func write(
    _ request: borrowing RequestSnapshot, _ stage: Stage, at time: Timestamp, to line: inout LineWriter
  ) {
    begin(time, .warn, request, stage, &line)
    headers(request.request.headers, requestHeaders, to: &line)
    fields.write(redactor.shown(request.request.fields), to: &line)
  }

  /// A request of another process, from its black box.
  ///
  /// - Parameter isRunning: The process has not ended.
  func write(
    _ request: borrowing RequestSnapshot, of process: BlackBoxContent, isRunning: Bool, at time: Timestamp,
    to line: inout LineWriter
  ) {
    begin(time, isRunning ? .info : .warn, request, isRunning ? .active : .unfinished, &line)
    line.part { line in
      line.member("black_box.pid", Int(process.processID))
      line.key("black_box.last_sign_of_life")
      line.append("\"")
      line.timestamp(process.lastSign)
      line.append("\"")
      if !isRunning {
        line.member("message", "the process ended without a shutdown", limit: LineLimits.message)
      }
    }
    ownFields.write([:], to: &line)
  }

  enum Stage {
    case active, waiting
    /// The process ends before it.
    case unfinished
  }

  /// Begins the line of a request that has not ended, with what is known of it.
  private func begin(
    _ time: Timestamp, _ severity: LogSeverity, _ request: borrowing RequestSnapshot, _ stage: Stage,
    _ line: inout LineWriter
  ) {
    let isInbound = request.request.direction == .inbound
    let event: StaticString =
      switch stage {
      case .active: isInbound ? "http.server.request.active" : "http.client.request.active"
      case .waiting: isInbound ? "http.server.request.waiting" : "http.client.request.waiting"
      case .unfinished: isInbound ? "http.server.request.unfinished" : "http.client.request.unfinished"
      }
    line.begin(time, severity, event: event)
    target(of: request.request, isInbound: isInbound, to: &line)
    line.part { line in
      line.member("server.port", request.request.serverPort)
      line.member("http.response.status_code", request.statusCode)
      line.member("duration_s", nanoseconds: request.duration.nanoseconds)
      upstream(request.upstream, of: request.duration, to: &line)
      line.member("waiting_for", request.wait?.rawValue)
      line.member("idle_s", nanoseconds: request.idleTime?.nanoseconds)
      line.member("http.request.body.size", request.requestBodySize, atLeast: 0)
      line.member("http.response.body.size", request.responseBodySize, atLeast: 0)
      line.trace(request.request.traceContext)
    }
  }

  /// Who asks, how, and whom; of a request that the app served, how, for what, and by which address. A port
  /// is left to the part that follows, which is always there.
  private func target(of request: borrowing RequestDescription, isInbound: Bool, to line: inout LineWriter) {
    if !isInbound { line.part { $0.member("client.name", request.client) } }
    line.part { method(of: request, to: &$0) }
    url(of: request, to: &line)
    if isInbound {
      line.part { $0.member("url.scheme", request.knownScheme) }
      line.part { $0.member("http.route", redactor.template(of: request)) }
      text("client.address", request.clientAddress, to: &line)
    } else {
      line.part { $0.member("url.template", redactor.template(of: request)) }
      text("server.address", request.serverAddress, to: &line)
    }
  }

  /// `http.request.method`, and what it was if that is not one of the known ones (OpenTelemetry HTTP
  /// conventions, `http.request.method_original`).
  @inline(__always)
  private func method(of request: borrowing RequestDescription, to line: inout LineWriter) {
    let label = request.methodLabel
    line.member("http.request.method", label, limit: LineLimits.method)
    if label == request.method { return }
    let key: StaticString = "http.request.method_original"
    line.member(key, redactor.shown(key, request.method), limit: LineLimits.method)
  }

  /// A part that is one text, if there is one to be shown.
  @inline(__always)
  private func text(_ key: StaticString, _ text: String?, to line: inout LineWriter) {
    line.part { $0.member(key, redactor.shown(key, text)) }
  }

  /// `,"url.full":"…"` of a client's request, or `,"url.path":"…"` of a server's.
  @inline(__always)
  private func url(of request: borrowing RequestDescription, to line: inout LineWriter) {
    if request.url.isEmpty { return }
    let (key, form) = RequestRedactor.url(of: request.direction)
    line.part { line in
      if redactor.custom != nil { return line.member(key, redactor.url(of: request), limit: LineLimits.url) }
      line.key(key)
      line.append("\"")
      redactor.urls.redact(request.url, as: form, limit: LineLimits.url, to: &line)
      line.append("\"")
    }
  }

  /// `,"queue_s":`, and so on, by the number of the phase.
  private static let phaseKeys = RequestTimings.Phase.allCases.map { Array(",\"\($0.logKey)\":".utf8) }

  private func times(of observation: borrowing RequestObservation, to line: inout LineWriter) {
    line.member("duration_s", nanoseconds: observation.duration.nanoseconds)
    line.member("time_to_first_byte_s", nanoseconds: observation.timeToFirstByte?.nanoseconds)
    upstream(observation.upstream, of: observation.duration, to: &line)
    observation.timings.forEach { number, nanoseconds in
      line.append(Self.phaseKeys[number])
      line.seconds(nanoseconds: nanoseconds)
    }
    line.member("cut_off_phase", observation.cutOffPhase?.rawValue)
  }

  /// Of a served request: where its time went, if the app made requests within it.
  private func upstream(_ upstream: UpstreamTime?, of duration: Duration, to line: inout LineWriter) {
    guard let upstream else { return }
    let (time, duration) = (upstream.duration.nanoseconds, duration.nanoseconds)
    line.member("upstream_s", nanoseconds: time)
    line.member("own_s", nanoseconds: max(0, duration - time))
    line.member("upstream_requests", upstream.requestCount)
  }

  private func connection(of observation: borrowing RequestObservation, to line: inout LineWriter) {
    line.member("network.protocol.version", observation.protocolVersion?.rawValue)
    line.member("network.peer.address", redactor.shown("network.peer.address", observation.peerAddress))
    if let isReused = observation.isConnectionReused {
      line.append(isReused ? ",\"connection.reused\":true" : ",\"connection.reused\":false")
    }
    line.member("network.resent_after_s", nanoseconds: observation.timeToResend?.nanoseconds)
    line.member("network.round_trip_s", nanoseconds: observation.networkRoundTrip?.nanoseconds)
    line.member("network.retransmits", observation.retransmittedSegments, atLeast: 1)
  }

  /// The headers that are allowed, each an array of one text: `,"http.request.header.accept":["…"]`.
  private func headers(_ headers: [String: String], _ allowed: Headers, to line: inout LineWriter) {
    for (name, key) in allowed {
      // Names differ in case only where a dictionary has a header twice; the first by name is the one.
      let matches = headers.filter { $0.key.utf8.count == name.utf8.count && $0.key.lowercased() == name }
      guard let value = matches.min(by: { $0.key < $1.key })?.value else { continue }
      guard let text = redactor.custom.map({ $0(key, value) }) ?? value else { continue }
      line.part { line in
        line.append(",")
        line.string(key, limit: 2 * LineLimits.name)
        line.append(":[")
        line.string(text, limit: LineLimits.value)
        line.append("]")
      }
    }
  }
}

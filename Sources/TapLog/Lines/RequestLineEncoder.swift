import TapCore

/// Writes the lines of requests: one JSON object each, its keys the attribute names of the OpenTelemetry HTTP
/// conventions, always in the same order. What is unknown is absent.
struct RequestLineEncoder: Sendable {
  /// The allowed headers, by name, and their keys in the line.
  private typealias Headers = [(name: String, key: String)]

  /// Of outbound and of inbound requests, whose lines have different keys of their own.
  private let outboundFields: LineFields
  private let inboundFields: LineFields
  private let urls: URLRedactor
  private let urlLimit: Int
  private let requestHeaders: Headers
  private let responseHeaders: Headers
  /// The app's rule for what may hold secrets.
  private let custom: (@Sendable (_ key: String, _ value: String) -> String?)?

  init(_ configuration: RequestLog.Configuration) {
    outboundFields = LineFields(shared: configuration.fields, reserved: .outbound)
    inboundFields = LineFields(shared: configuration.fields, reserved: .inbound)
    let redaction = configuration.redaction
    urls = URLRedactor(allowedQueryKeys: redaction.allowedQueryKeys, allowedPaths: redaction.allowedPaths)
    urlLimit = min(max(0, configuration.urlLengthLimit), 8_192)
    requestHeaders = redaction.headers.request.map { ($0, "http.request.header.\($0)") }
    responseHeaders = redaction.headers.response.map { ($0, "http.response.header.\($0)") }
    custom = redaction.custom
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
    text("error.message", observation.errorMessage, to: &line)
    headers(observation.request.headers, requestHeaders, to: &line)
    headers(observation.responseHeaders, responseHeaders, to: &line)
    (isInbound ? inboundFields : outboundFields).write(shown(observation.request.fields), to: &line)
  }

  /// A request that has not ended, and may never.
  ///
  /// - Parameter isUnfinished: The process ends before it.
  func write(
    _ waiting: borrowing RequestSnapshot, isUnfinished: Bool, at time: Timestamp, to line: inout LineWriter
  ) {
    let isInbound = waiting.request.direction == .inbound
    let event: StaticString =
      switch (isInbound, isUnfinished) {
      case (false, false): "http.client.request.waiting"
      case (false, true): "http.client.request.unfinished"
      case (true, false): "http.server.request.waiting"
      case (true, true): "http.server.request.unfinished"
      }
    line.begin(time, .warn, event: event)
    target(of: waiting.request, isInbound: isInbound, to: &line)
    line.part { line in
      line.member("server.port", waiting.request.serverPort)
      line.member("http.response.status_code", waiting.statusCode)
      line.member("duration_s", nanoseconds: waiting.duration.nanoseconds)
      line.member("waiting_for", waiting.wait?.rawValue)
      line.member("idle_s", nanoseconds: waiting.idleTime?.nanoseconds)
      line.member("http.request.body.size", waiting.requestBodySize, atLeast: 0)
      line.member("http.response.body.size", waiting.responseBodySize, atLeast: 0)
      line.trace(waiting.request.traceContext)
    }
    headers(waiting.request.headers, requestHeaders, to: &line)
    (isInbound ? inboundFields : outboundFields).write(shown(waiting.request.fields), to: &line)
  }

  /// Who asks, how, and whom; of a request that the app served, how, for what, and by which address. A port
  /// is left to the part that follows, which is always there.
  private func target(of request: borrowing RequestDescription, isInbound: Bool, to line: inout LineWriter) {
    if !isInbound { line.part { $0.member("client.name", request.client) } }
    line.part { method(of: request, to: &$0) }
    if isInbound {
      url("url.path", request.url, as: .path, to: &line)
      line.part { $0.member("url.scheme", request.knownScheme) }
      text("http.route", request.urlTemplate, to: &line)
      text("client.address", request.clientAddress, to: &line)
    } else {
      url("url.full", request.url, as: .url, to: &line)
      text("url.template", request.urlTemplate, to: &line)
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
    line.member(key, shown(key, request.method), limit: LineLimits.method)
  }

  /// A part that is one text, if there is one to be shown.
  @inline(__always)
  private func text(_ key: StaticString, _ text: String?, to line: inout LineWriter) {
    line.part { $0.member(key, shown(key, text)) }
  }

  /// A text as the app's rule leaves it.
  @inline(__always)
  private func shown(_ key: StaticString, _ text: String?) -> String? {
    guard let custom, let text else { return text }
    return custom(key.description, text)
  }

  /// `,"url.full":"…"` of a client's request, or `,"url.path":"…"` of a server's.
  @inline(__always)
  private func url(
    _ key: StaticString, _ url: String, as form: URLRedactor.Form, to line: inout LineWriter
  ) {
    if url.isEmpty { return }
    if let custom {
      if let text = custom(key.description, urls.redact(url, as: form)) {
        line.part { $0.member(key, text, limit: urlLimit) }
      }
      return
    }
    line.part { line in
      line.key(key)
      line.append("\"")
      urls.redact(url, as: form, limit: urlLimit, to: &line)
      line.append("\"")
    }
  }

  /// `,"queue_s":`, and so on, by the number of the phase.
  private static let phaseKeys = RequestTimings.Phase.allCases.map { Array(",\"\($0.logKey)\":".utf8) }

  private func times(of observation: borrowing RequestObservation, to line: inout LineWriter) {
    line.member("duration_s", nanoseconds: observation.duration.nanoseconds)
    line.member("time_to_first_byte_s", nanoseconds: observation.timeToFirstByte?.nanoseconds)
    observation.timings.forEach { number, nanoseconds in
      line.append(Self.phaseKeys[number])
      line.seconds(nanoseconds: nanoseconds)
    }
    line.member("cut_off_phase", observation.cutOffPhase?.rawValue)
  }

  private func connection(of observation: borrowing RequestObservation, to line: inout LineWriter) {
    line.member("network.protocol.version", observation.protocolVersion?.rawValue)
    line.member("network.peer.address", shown("network.peer.address", observation.peerAddress))
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
      guard let text = custom.map({ $0(key, value) }) ?? value else { continue }
      line.part { line in
        line.append(",")
        line.string(key, limit: 2 * LineLimits.name)
        line.append(":[")
        line.string(text, limit: LineLimits.value)
        line.append("]")
      }
    }
  }

  /// The fields of one line, as the app's rule leaves them.
  @inline(__always)
  private func shown(_ fields: [String: FieldValue]) -> [String: FieldValue] {
    guard let custom, !fields.isEmpty else { return fields }
    var result = fields
    for (key, value) in fields {
      if case .string(let text) = value { result[key] = custom(key, text).map { .string($0) } }
    }
    return result
  }
}

import TapCore

/// Writes the lines of requests: one JSON object each, its keys the attribute names of the OpenTelemetry HTTP
/// conventions, always in the same order. What is unknown is absent.
struct RequestLineEncoder: Sendable {
  let redactor: LineRedactor
  /// Of outbound and of inbound requests, whose lines have different keys of their own.
  let outboundFields: LineFields
  let inboundFields: LineFields
  let limits: LineLimits

  /// A request that has ended.
  func write(_ observation: RequestObservation, to line: inout LineWriter) {
    let isInbound = observation.request.direction == .inbound
    line.begin(
      observation.endTime, observation.severity,
      event: isInbound ? "http.server.request" : "http.client.request")
    if isInbound {
      inboundTarget(of: observation.request, to: &line)
    } else {
      target(of: observation.request, to: &line)
    }
    line.part { json in
      port(of: observation.request, to: &json)
      end(observation, to: &json)
      transfer(observation, to: &json)
      trace(of: observation.request, to: &json)
    }
    // A part of its own: what may be left out of a long line.
    text("error.message", observation.errorMessage, to: &line)
    redactor.writeHeaders(of: observation.request, limits: limits, to: &line)
    redactor.writeResponseHeaders(of: observation, limits: limits, to: &line)
    let fields = isInbound ? inboundFields : outboundFields
    fields.write(redactor.fields(observation.request.fields), to: &line)
  }

  /// A request that has not ended, and may never.
  func write(
    _ request: RequestDescription, waitingFor duration: Duration, at time: Timestamp,
    to line: inout LineWriter
  ) {
    line.begin(time, .warn, event: "http.client.request.waiting")
    target(of: request, to: &line)
    line.part { json in
      port(of: request, to: &json)
      json.append(",\"duration_s\":")
      json.seconds(nanoseconds: duration.nanoseconds)
      trace(of: request, to: &json)
    }
    redactor.writeHeaders(of: request, limits: limits, to: &line)
    outboundFields.write(redactor.fields(request.fields), to: &line)
  }

  /// Who asks, how, and whom. The port is left to the part that follows, which is always there.
  @inline(__always)
  private func target(of request: RequestDescription, to line: inout LineWriter) {
    line.part { json in
      json.append(",\"client\":")
      json.string(request.client, limit: limits.name)
    }
    line.part { json in json.method(request.method, limits: limits) }
    redactor.writeURL(request.url, limits: limits, to: &line)
    text("url.template", request.urlTemplate, to: &line)
    text("server.address", request.serverAddress, to: &line)
  }

  /// What was asked for, and by which address.
  @inline(__always)
  private func inboundTarget(of request: RequestDescription, to line: inout LineWriter) {
    line.part { json in json.method(request.method, limits: limits) }
    redactor.writePath(request.url, limits: limits, to: &line)
    text("url.scheme", request.knownScheme, to: &line)
    text("http.route", request.urlTemplate, to: &line)
    text("client.address", request.clientAddress, to: &line)
  }

  @inline(__always)
  private func text(_ key: StaticString, _ value: String?, to line: inout LineWriter) {
    guard let value else { return }
    line.part { json in
      json.key(key)
      json.string(value, limit: limits.name)
    }
  }

  @inline(__always)
  private func port(of request: RequestDescription, to json: inout JSONWriter) {
    guard let port = request.serverPort else { return }
    json.append(",\"server.port\":")
    json.integer(Int64(port))
  }

  @inline(__always)
  private func trace(of request: RequestDescription, to json: inout JSONWriter) {
    guard let trace = request.traceContext else { return }
    json.trace(trace)
  }

  /// The status code, and the error if it is one.
  @inline(__always)
  private func end(_ observation: RequestObservation, to json: inout JSONWriter) {
    if let statusCode = observation.end.statusCode { json.statusCode(statusCode) }
    if let type = observation.errorType {
      json.append(",\"error.type\":")
      json.string(type, limit: limits.name)
    }
  }

  /// Times, sizes and the outcome.
  @inline(__always)
  private func transfer(_ observation: RequestObservation, to json: inout JSONWriter) {
    json.append(",\"duration_s\":")
    json.seconds(nanoseconds: observation.elapsed)
    if let time = observation.elapsedToFirstByte {
      json.append(",\"time_to_first_byte_s\":")
      json.seconds(nanoseconds: time)
    }
    phases(observation.timings, to: &json)
    connection(observation, to: &json)
    json.bodySizes(of: observation)
    // OpenTelemetry: there "if and only if request was retried", so not as 0.
    if let count = observation.resendCount, count > 0 {
      json.append(",\"http.request.resend_count\":")
      json.integer(Int64(count))
    }
    if observation.isFromCache { json.append(",\"from_cache\":true") }
    json.outcome(observation.outcome)
  }

  /// `queue_s`, `resolve_s`, … `local_s`
  @inline(__always)
  private func phases(_ timings: RequestTimings, to json: inout JSONWriter) {
    guard !timings.isEmpty else { return }
    for phase in RequestTimings.Phase.allCases {
      guard let nanoseconds = timings[nanoseconds: phase] else { continue }
      json.append(phase.key)
      json.seconds(nanoseconds: nanoseconds)
    }
  }

  @inline(__always)
  private func connection(_ observation: RequestObservation, to json: inout JSONWriter) {
    if let version = observation.protocolVersion {
      json.append(",\"network.protocol.version\":\"")
      json.append(version.staticText)
      json.append(.quote)
    }
    if let address = observation.peerAddress {
      json.append(",\"network.peer.address\":")
      json.string(address, limit: limits.name)
    }
    if let isReused = observation.isConnectionReused {
      json.append(isReused ? ",\"connection.reused\":true" : ",\"connection.reused\":false")
    }
    if let roundTrip = observation.roundTrip {
      json.append(",\"network.round_trip_s\":")
      json.seconds(nanoseconds: roundTrip)
    }
    if let count = observation.retransmittedSegments, count > 0 {
      json.append(",\"network.retransmits\":")
      json.integer(Int64(count))
    }
  }
}

extension RequestTimings.Phase {
  fileprivate var key: StaticString {
    switch self {
    case .queue: ",\"queue_s\":"
    case .resolve: ",\"resolve_s\":"
    case .connect: ",\"connect_s\":"
    case .tls: ",\"tls_s\":"
    case .upload: ",\"upload_s\":"
    case .processing: ",\"processing_s\":"
    case .transfer: ",\"transfer_s\":"
    case .local: ",\"local_s\":"
    }
  }
}

extension NetworkProtocolVersion {
  fileprivate var staticText: StaticString {
    switch self {
    case .http10: "1.0"
    case .http11: "1.1"
    case .http2: "2"
    case .http3: "3"
    }
  }
}

/// Members of the lines.
extension JSONWriter {
  /// `,"key":`
  @inline(__always)
  mutating func key(_ key: StaticString) {
    append(",\"")
    append(key)
    append("\":")
  }

  /// `http.request.method`, and what it was if that is not one of the known ones (OpenTelemetry HTTP conventions,
  /// `http.request.method_original`).
  @inline(__always)
  fileprivate mutating func method(_ method: String, limits: LineLimits) {
    append(",\"http.request.method\":")
    if limits.knownMethods.contains(method) {
      string(method, limit: limits.method)
    } else {
      append("\"_OTHER\",\"http.request.method_original\":")
      string(method, limit: limits.method)
    }
  }

  /// `http.response.status_code`
  @inline(__always)
  fileprivate mutating func statusCode(_ statusCode: Int) {
    append(",\"http.response.status_code\":")
    integer(Int64(statusCode))
  }

  /// `http.request.body.size` and `http.response.body.size`, where they are known.
  @inline(__always)
  fileprivate mutating func bodySizes(of request: RequestObservation) {
    if let size = request.requestBodySize {
      append(",\"http.request.body.size\":")
      integer(size)
    }
    if let size = request.responseBodySize {
      append(",\"http.response.body.size\":")
      integer(size)
    }
  }

  @inline(__always)
  fileprivate mutating func outcome(_ outcome: RequestOutcome) {
    append(",\"outcome\":\"")
    append(outcome.staticText)
    append(.quote)
  }

  /// `trace_id` and `span_id`
  @inline(__always)
  mutating func trace(_ trace: TraceContext) {
    append(",\"trace_id\":\"")
    hexadecimal(trace.traceBits.high)
    hexadecimal(trace.traceBits.low)
    append("\",\"span_id\":\"")
    hexadecimal(trace.spanBits)
    append(.quote)
  }

  /// All 16 digits of a number.
  @inline(__always)
  private mutating func hexadecimal(_ number: UInt64) {
    guard let target = extend(by: 16) else { return }
    HexadecimalDigits.write(number, to: target)
  }
}

extension RequestOutcome {
  fileprivate var staticText: StaticString {
    switch self {
    case .ok: "ok"
    case .httpError: "http_error"
    case .error: "error"
    case .cancelled: "cancelled"
    }
  }
}

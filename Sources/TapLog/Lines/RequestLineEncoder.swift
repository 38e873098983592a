import TapCore

/// Writes the lines of requests: one JSON object each, its keys the attribute names of the OpenTelemetry HTTP
/// conventions, always in the same order. What is unknown is absent.
struct RequestLineEncoder: Sendable {
  private let redactor: LineRedactor
  /// Of outbound and of inbound requests, whose lines have different keys of their own.
  private let outboundFields: LineFields
  private let inboundFields: LineFields
  private let knownMethods: [String]

  init(_ configuration: RequestLog.Configuration) {
    redactor = LineRedactor(
      configuration.redaction, urlLimit: min(max(0, configuration.urlLengthLimit), 8_192))
    outboundFields = LineFields(shared: configuration.fields, reserved: .request)
    inboundFields = LineFields(shared: configuration.fields, reserved: .inbound)
    knownMethods = configuration.knownMethods
  }

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
    redactor.write(observation.request.headers, redactor.requestHeaders, to: &line)
    redactor.write(observation.responseHeaders, redactor.responseHeaders, to: &line)
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
      json.member("duration_s", nanoseconds: duration.nanoseconds)
      trace(of: request, to: &json)
    }
    redactor.write(request.headers, redactor.requestHeaders, to: &line)
    outboundFields.write(redactor.fields(request.fields), to: &line)
  }

  /// Who asks, how, and whom. The port is left to the part that follows, which is always there.
  @inline(__always)
  private func target(of request: RequestDescription, to line: inout LineWriter) {
    line.part { $0.member("client", request.client, limit: LineLimits.name) }
    line.part { method(request.method, to: &$0) }
    redactor.writeURL(request.url, as: .url, to: &line)
    text("url.template", request.urlTemplate, to: &line)
    text("server.address", request.serverAddress, to: &line)
  }

  /// What was asked for, and by which address.
  @inline(__always)
  private func inboundTarget(of request: RequestDescription, to line: inout LineWriter) {
    line.part { method(request.method, to: &$0) }
    redactor.writeURL(request.url, as: .path, to: &line)
    text("url.scheme", request.knownScheme, to: &line)
    text("http.route", request.urlTemplate, to: &line)
    text("client.address", request.clientAddress, to: &line)
  }

  /// `http.request.method`, and what it was if that is not one of the known ones (OpenTelemetry HTTP conventions,
  /// `http.request.method_original`).
  @inline(__always)
  private func method(_ method: String, to json: inout ByteWriter) {
    let isKnown = knownMethods.contains(method)
    if !isKnown { json.append(",\"http.request.method\":\"_OTHER\"") }
    json.member(
      isKnown ? "http.request.method" : "http.request.method_original", method, limit: LineLimits.method)
  }

  @inline(__always)
  private func text(_ key: StaticString, _ value: String?, to line: inout LineWriter) {
    if let value { line.part { $0.member(key, value, limit: LineLimits.name) } }
  }

  @inline(__always)
  private func port(of request: RequestDescription, to json: inout ByteWriter) {
    if let port = request.serverPort { json.member("server.port", Int64(port)) }
  }

  @inline(__always)
  private func trace(of request: RequestDescription, to json: inout ByteWriter) {
    if let trace = request.traceContext { json.trace(trace) }
  }

  /// The status code, and the error if it is one.
  @inline(__always)
  private func end(_ observation: RequestObservation, to json: inout ByteWriter) {
    if let code = observation.end.statusCode { json.member("http.response.status_code", Int64(code)) }
    if let type = observation.errorType { json.member("error.type", type, limit: LineLimits.name) }
  }

  /// Times, sizes and the outcome.
  @inline(__always)
  private func transfer(_ observation: RequestObservation, to json: inout ByteWriter) {
    json.member("duration_s", nanoseconds: observation.elapsed)
    if let time = observation.elapsedToFirstByte {
      json.member("time_to_first_byte_s", nanoseconds: time)
    }
    if !observation.timings.isEmpty {
      for phase in RequestTimings.Phase.allCases {
        if let time = observation.timings[nanoseconds: phase] { json.member(phase.key, nanoseconds: time) }
      }
    }
    connection(observation, to: &json)
    // A negative size is none, and counted by the metrics.
    if let size = observation.requestBodySize, size >= 0 { json.member("http.request.body.size", size) }
    if let size = observation.responseBodySize, size >= 0 { json.member("http.response.body.size", size) }
    // OpenTelemetry: there "if and only if request was retried", so not as 0.
    if let count = observation.resendCount, count > 0 {
      json.member("http.request.resend_count", Int64(count))
    }
    if observation.isFromCache { json.append(",\"from_cache\":true") }
    json.member("outcome", observation.outcome.rawValue, limit: LineLimits.name)
  }

  @inline(__always)
  private func connection(_ observation: RequestObservation, to json: inout ByteWriter) {
    if let version = observation.protocolVersion {
      json.member("network.protocol.version", version.rawValue, limit: LineLimits.name)
    }
    if let address = observation.peerAddress {
      json.member("network.peer.address", address, limit: LineLimits.name)
    }
    if let isReused = observation.isConnectionReused {
      json.append(isReused ? ",\"connection.reused\":true" : ",\"connection.reused\":false")
    }
    if let time = observation.roundTrip { json.member("network.round_trip_s", nanoseconds: time) }
    if let count = observation.retransmittedSegments, count > 0 {
      json.member("network.retransmits", Int64(count))
    }
  }
}

extension RequestTimings.Phase {
  fileprivate var key: StaticString {
    switch self {
    case .queue: "queue_s"
    case .resolve: "resolve_s"
    case .connect: "connect_s"
    case .tls: "tls_s"
    case .upload: "upload_s"
    case .processing: "processing_s"
    case .transfer: "transfer_s"
    case .local: "local_s"
    }
  }
}

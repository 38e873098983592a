import TapCore

/// Writes the line of an ended request: one JSON object, its keys the attribute names of the OpenTelemetry HTTP
/// conventions, always in the same order. What is unknown is absent.
///
/// Every part has a limit, and so has the line: a field that does not fit any more is left out as a whole, and
/// `"truncated":true` says so.
struct RequestLineEncoder: Sendable {
  let redactor: URLRedactor
  let limits: LineLimits

  /// What stands at the end of a line that lacks a field.
  private static let truncationMark: StaticString = ",\"truncated\":true"
  private static let lineEnd: StaticString = "}\n"
  private static let tailLength = truncationMark.utf8CodeUnitCount + lineEnd.utf8CodeUnitCount

  /// Writes the line, its newline included, and says whether it is complete.
  func write(_ observation: RequestObservation, to json: inout JSONWriter) -> Bool {
    let request = observation.request
    json.reserve(Self.tailLength)
    var isComplete = true

    json.append("{\"timestamp\":\"")
    json.timestamp(observation.endTime)
    json.append("\",\"severity\":\"")
    json.append(observation.end.severity.staticText)
    json.append("\",\"event\":\"http.client.request\"")
    field(&json, &isComplete) { json in
      json.append(",\"client\":")
      json.string(request.client, limit: limits.name)
    }
    field(&json, &isComplete) { json in method(request.method, to: &json) }
    if !request.url.isEmpty {
      field(&json, &isComplete) { json in
        json.append(",\"url.full\":\"")
        redactor.redact(request.url, limit: limits.url, to: &json)
        json.append(.quote)
      }
    }
    if let template = request.urlTemplate {
      field(&json, &isComplete) { json in
        json.append(",\"url.template\":")
        json.string(template, limit: limits.name)
      }
    }
    if let address = request.serverAddress {
      field(&json, &isComplete) { json in
        json.append(",\"server.address\":")
        json.string(address, limit: limits.name)
      }
    }
    field(&json, &isComplete) { json in
      if let port = request.serverPort {
        json.append(",\"server.port\":")
        json.integer(Int64(port))
      }
      end(observation, to: &json)
    }
    if let trace = request.traceContext {
      field(&json, &isComplete) { json in
        json.append(",\"trace_id\":\"")
        hexadecimal(trace.traceID, to: &json)
        json.append("\",\"span_id\":\"")
        hexadecimal(trace.spanID, to: &json)
        json.append(.quote)
      }
    }

    json.reserve(0)
    if !isComplete { json.append(Self.truncationMark) }
    json.append(Self.lineEnd)
    return isComplete
  }

  /// Writes a part of the line as a whole or not at all.
  @inline(__always)
  private func field(_ json: inout JSONWriter, _ isComplete: inout Bool, _ body: (inout JSONWriter) -> Void) {
    let mark = json.count
    body(&json)
    if json.isFull {
      json.rollBack(to: mark)
      json.reserve(Self.tailLength)
      isComplete = false
    }
  }

  /// `http.request.method`, and what it was if that is not one of the known ones (OpenTelemetry HTTP conventions,
  /// `http.request.method_original`).
  @inline(__always)
  private func method(_ method: String, to json: inout JSONWriter) {
    json.append(",\"http.request.method\":")
    if limits.knownMethods.contains(method) {
      json.string(method, limit: limits.method)
    } else {
      json.append("\"_OTHER\",\"http.request.method_original\":")
      json.string(method, limit: limits.method)
    }
  }

  /// How it ended: status code, error, duration, sizes, outcome.
  @inline(__always)
  private func end(_ observation: RequestObservation, to json: inout JSONWriter) {
    if let statusCode = observation.end.statusCode {
      json.append(",\"http.response.status_code\":")
      json.integer(Int64(statusCode))
    }
    if case .failure(let type, _) = observation.end {
      json.append(",\"error.type\":")
      json.string(type.rawValue, limit: limits.name)
    } else if observation.end.outcome == .httpError, let statusCode = observation.end.statusCode {
      json.append(",\"error.type\":\"")
      json.integer(Int64(statusCode))
      json.append(.quote)
    }
    json.append(",\"duration_s\":")
    json.seconds(observation.duration)
    if let size = observation.requestBodySize {
      json.append(",\"http.request.body.size\":")
      json.integer(size)
    }
    if let size = observation.responseBodySize {
      json.append(",\"http.response.body.size\":")
      json.integer(size)
    }
    json.append(",\"outcome\":\"")
    json.append(observation.end.outcome.staticText)
    json.append(.quote)
  }

  /// An identifier of a trace, which has been checked to be nothing but digits.
  @inline(__always)
  private func hexadecimal(_ text: String, to json: inout JSONWriter) {
    text.withBytes { bytes in
      if let base = bytes.baseAddress { json.append(base, count: bytes.count) }
    }
  }
}

extension RequestObservation {
  /// When the request ended. A sum that 64 bits cannot hold is the start.
  fileprivate var endTime: Timestamp {
    let (sum, overflow) = start.nanosecondsSinceEpoch.addingReportingOverflow(max(0, duration.nanoseconds))
    return overflow ? start : Timestamp(nanosecondsSinceEpoch: sum)
  }
}

extension LogSeverity {
  /// ``text``, for the encoder.
  var staticText: StaticString {
    switch self {
    case .trace: "TRACE"
    case .debug: "DEBUG"
    case .info: "INFO"
    case .warn: "WARN"
    case .error: "ERROR"
    }
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

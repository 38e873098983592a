import TapCore

/// The members that the lines of outbound and inbound requests have in common.
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
  mutating func method(_ method: String, limits: LineLimits) {
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
  mutating func statusCode(_ statusCode: Int) {
    append(",\"http.response.status_code\":")
    integer(Int64(statusCode))
  }

  /// `http.request.body.size` and `http.response.body.size`, where they are known.
  @inline(__always)
  mutating func bodySizes(of request: some EndedRequest) {
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
  mutating func outcome(_ outcome: RequestOutcome) {
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

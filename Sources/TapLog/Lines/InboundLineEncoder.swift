import TapCore

/// Writes the lines of requests that the app served, as ``RequestLineEncoder`` writes those of the requests that it made.
struct InboundLineEncoder: Sendable {
  let redactor: LineRedactor
  let fields: LineFields
  let limits: LineLimits

  func write(_ observation: InboundObservation, to line: inout LineWriter) {
    line.begin(observation.endTime, observation.severity, event: "http.server.request")
    line.part { json in json.method(observation.method, limits: limits) }
    redactor.writePath(observation.path, limits: limits, to: &line)
    text("url.scheme", observation.scheme, to: &line)
    text("http.route", observation.route, to: &line)
    text("client.address", observation.clientAddress, to: &line)
    line.part { json in
      if let statusCode = observation.end.statusCode { json.statusCode(statusCode) }
      if let type = observation.errorType {
        json.append(",\"error.type\":")
        json.string(type, limit: limits.name)
      }
      json.append(",\"duration_s\":")
      json.seconds(nanoseconds: observation.elapsed)
      json.bodySizes(of: observation)
      json.outcome(observation.outcome)
      json.trace(observation.trace)
    }
    fields.write(redactor.fields(observation.fields), to: &line)
  }

  @inline(__always)
  private func text(_ key: StaticString, _ value: String?, to line: inout LineWriter) {
    guard let value else { return }
    line.part { json in
      json.key(key)
      json.string(value, limit: limits.name)
    }
  }
}

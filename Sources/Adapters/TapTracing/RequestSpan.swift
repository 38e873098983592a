import Synchronization
import TapCore
import Tracing

/// A span that ends once: with its request, or when nothing refers to it any more.
final class RequestSpan: Sendable {
  let span: any Span
  let tracer: any Tracer
  private let hasEnded = Atomic(false)

  init(_ span: any Span, by tracer: any Tracer) { (self.span, self.tracer) = (span, tracer) }

  /// The last reference may be released under locks of the tap or of Foundation, so the tracer is called
  /// elsewhere.
  deinit {
    if !hasEnded.load(ordering: .relaxed) { Task { [span] in span.end() } }
  }

  func end(_ observation: RequestObservation) {
    guard !hasEnded.exchange(true, ordering: .relaxed) else { return }
    span.operationName = observation.spanName
    span.updateAttributes { attributes in
      for (name, value) in observation.spanAttributes { attributes[name] = value }
    }
    for (phase, start, duration) in observation.phases {
      span.addEvent(
        SpanEvent(
          name: phase.rawValue, at: observation.instant(start),
          attributes: ["session_tap.phase.duration": .double(duration / .seconds(1))]))
    }
    if let type = observation.errorType {
      // The reason of an error response is its status code (OpenTelemetry, "Semantic conventions for HTTP
      // spans", Status).
      span.setStatus(SpanStatus(code: .error, message: Int(type) == nil ? type : nil))
    }
    span.end(at: observation.instant(observation.duration))
  }
}

extension RequestObservation {
  /// A time after the begin.
  fileprivate func instant(_ offset: Duration) -> DefaultTracerClock.Timestamp {
    // A duration here has whole nanoseconds, at most 292 years.
    let (seconds, attoseconds) = offset.components
    let nanoseconds = seconds &* 1_000_000_000 &+ attoseconds / 1_000_000_000
    return .init(nanosecondsSinceEpoch: UInt64(clamping: start.nanosecondsSinceEpoch &+ nanoseconds))
  }

  /// The known phases whose begin is known too, counted back from the first byte of the response or, without
  /// an unknown time in this process, from the end.
  fileprivate var phases: [(phase: RequestTimings.Phase, start: Duration, duration: Duration)] {
    var phases: [(phase: RequestTimings.Phase, start: Duration, duration: Duration)] = []
    var end = duration
    if let first = timeToFirstByte, timings[.processing] != nil {
      if let transfer = timings[.transfer] { phases.append((.transfer, first, transfer)) }
      end = first
    } else if timings[.local] != nil {
      return []
    }
    for phase in RequestTimings.Phase.allCases.reversed()
    where phase != .local && phases.first?.phase != phase {
      guard let duration = timings[phase] else { continue }
      end -= duration
      phases.append((phase, end, duration))
    }
    // libcurl's clock and ours differ by less than a microsecond.
    return end < .microseconds(-1) ? [] : phases.reversed()
  }

  private var knownMethod: String? {
    request.methodLabel == request.method ? request.method : nil
  }

  fileprivate var spanName: String {
    [knownMethod ?? "HTTP", request.urlTemplate].compactMap(\.self).joined(separator: " ")
  }

  /// The attributes that OpenTelemetry requires or recommends for HTTP spans, as far as they are known. The
  /// tap has redacted their texts.
  fileprivate var spanAttributes: [(String, SpanAttribute?)] {
    func text(_ value: String?) -> SpanAttribute? { value.map { .string($0) } }
    func number(_ value: Int?) -> SpanAttribute? { value.map { .int64(Int64($0)) } }
    let isClient = request.direction == .outbound
    let path = String(request.url.prefix { $0 != "?" && $0 != "#" })
    return [
      ("http.request.method", text(request.methodLabel)),
      ("http.request.method_original", knownMethod == nil ? text(request.method) : nil),
      ("http.response.status_code", number(statusCode)),
      ("error.type", text(errorType)),
      ("network.protocol.version", text(protocolVersion?.rawValue)),
      ("network.peer.address", text(peerAddress)),
      ("http.request.body.size", number(requestBodySize.map { Int(clamping: $0) })),
      ("http.response.body.size", number(responseBodySize.map { Int(clamping: $0) })),
      ("http.request.resend_count", number(resendCount.flatMap { $0 > 0 ? $0 : nil })),
    ]
      + (isClient
        ? [
          ("server.address", text(request.serverAddress)), ("server.port", number(request.serverPort)),
          ("url.full", text(request.url)), ("url.template", text(request.urlTemplate)),
        ]
        : [
          ("url.path", text(path)), ("url.scheme", text(request.scheme?.lowercased())),
          ("http.route", text(request.urlTemplate)), ("client.address", text(request.clientAddress)),
        ])
  }
}

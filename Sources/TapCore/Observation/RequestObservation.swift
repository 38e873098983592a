/// One ended request in either direction. Every consumer receives this value.
public struct RequestObservation: Sendable, Equatable {
  /// The request, with the fields that the app added until its end.
  public var request: RequestDescription
  /// When loading started.
  public var start: Timestamp
  /// The time from the start of loading to the last byte of the body, including redirects and challenges; for
  /// an inbound request, from its begin to its end.
  public var duration: Duration
  /// How the request ended.
  public var end: RequestEnd
  /// The status code of the head that came before the end.
  package var headStatusCode: Int?
  /// The type of the error that the app threw (OpenTelemetry, `exception.type`), with its module.
  package var exceptionType: String?
  /// The text of the error from libcurl or the app (OpenTelemetry, `exception.message`), for people and not
  /// for labels. `nil` if there was no error or no text. The userinfo of a URL in it becomes `REDACTED`.
  public var errorMessage: String? { didSet { errorMessage = errorMessage?.withoutUserinfo } }
  /// The bytes of the request's body, or `nil` if unknown. Unknown is not 0.
  public var requestBodySize: Int64?
  /// The bytes of the response's body, or `nil` if unknown. Unknown is not 0.
  public var responseBodySize: Int64?
  /// The time from the start of loading to the first byte of the last leg's response, which may be an interim
  /// one. `nil` if unknown, for example after an answered challenge.
  public var timeToFirstByte: Duration?
  /// Where the time went, as far as it is known.
  public var timings = RequestTimings()
  /// What the calls that the app made within a served request took: one that it makes has none, nor has a
  /// served one without calls.
  public package(set) var upstream: UpstreamTime?
  /// The phase in which the request failed or was cancelled, or `nil` if there is none or it is unknown. Its
  /// length in ``timings`` is the time until then, which says nothing of how long it would have taken.
  public var cutOffPhase: RequestTimings.Phase?
  /// The HTTP version of the response, or `nil` if unknown.
  public var protocolVersion: NetworkProtocolVersion?
  /// The address of the server or proxy at the other end of the connection (OpenTelemetry,
  /// `network.peer.address`), or `nil` if unknown.
  public var peerAddress: String?
  /// The number of connections that the request's last leg opened, or `nil` if unknown.
  public var openedConnections: Int?
  /// Whether the request's last leg used a connection that was already open. `nil` if unknown or if it had no
  /// connection.
  public var isConnectionReused: Bool?
  /// The least round trip of the connection in the last minutes (`tcp(7)`, `tcpi_min_rtt`), or `nil` if it
  /// was not read: after short requests it is read once per second for each connection. Through a proxy it is
  /// the round trip to the proxy.
  public var networkRoundTrip: Duration?
  /// The number of segments sent again on the connection since its last reading, or `nil` if unknown.
  public var retransmittedSegments: Int?
  /// The number of redirects that the request followed (OpenTelemetry, `http.request.resend_count`), or `nil`
  /// if unknown, for example after an answered challenge.
  public var resendCount: Int?
  /// The time until libcurl sent the request again, because the server had closed the connection under it, or
  /// `nil` if it did not. No phase includes it.
  public var timeToResend: Duration?
  /// Whether the response came from the session's cache.
  public var isFromCache = false
  /// Headers of the response, by name, for a consumer that may show some, as ``RequestDescription/headers``.
  public var responseHeaders: [String: String] = [:]

  /// Makes an observation. What else is known of the request is set afterwards.
  public init(
    request: RequestDescription, start: Timestamp, duration: Duration, end: RequestEnd,
    requestBodySize: Int64? = nil, responseBodySize: Int64? = nil
  ) {
    self.request = request
    self.start = start
    self.duration = duration
    self.end = end
    self.requestBodySize = requestBodySize
    self.responseBodySize = responseBodySize
  }

  init(
    begun request: consuming RequestDescription, at start: Timestamp = Timestamp(nanosecondsSinceEpoch: 0)
  ) {
    self.request = request
    self.start = start
    duration = .zero
    end = .cancelled
  }
}

extension RequestObservation {
  package var outcome: RequestOutcome {
    switch end {
    case .response: isErrorResponse ? .httpError : .ok
    case .failure: .error
    case .cancelled: .cancelled
    }
  }

  private var isErrorResponse: Bool {
    guard let statusCode else { return false }
    return request.direction.isError(statusCode)
  }

  /// The status code of the response, also of one that was cut short by a failure or a cancel. `nil` if no
  /// head came, or if a loader of the app's own gave none.
  public var statusCode: Int? { end.statusCode ?? headStatusCode }

  /// The status code of an error response, or the class of a failure; `nil` on success (OpenTelemetry,
  /// `error.type`).
  public var errorType: String? {
    switch end {
    case .response: isErrorResponse ? statusCode.map { String($0) } : nil
    case .failure(let type, _): type.rawValue
    case .cancelled: nil
    }
  }

  /// Whether it ended with a whole response that is no 5xx. A 4xx is the mistake of the one who asked.
  package var isAnswered: Bool {
    guard case .response = end, let statusCode else { return false }
    return (100..<500).contains(statusCode)
  }

  /// When the request ended, at most the last moment that a timestamp can express.
  package var endTime: Timestamp {
    let (end, isTooLate) = start.nanosecondsSinceEpoch.addingReportingOverflow(max(0, duration.nanoseconds))
    return Timestamp(nanosecondsSinceEpoch: isTooLate ? .max : end)
  }
}

/// The HTTP version of a response (OpenTelemetry, `network.protocol.version`).
public enum NetworkProtocolVersion: String, Sendable, Hashable, CaseIterable {
  /// HTTP/1.0
  case http10 = "1.0"
  /// HTTP/1.1
  case http11 = "1.1"
  /// HTTP/2
  case http2 = "2"
  /// HTTP/3
  case http3 = "3"
}

/// One ended request in either direction. Every consumer receives this value.
public struct RequestObservation: Sendable, Hashable {
  /// The request, with the fields that the app added until its end.
  public var request: RequestDescription
  /// When loading started.
  public var start: Timestamp
  /// The time from the start of loading to the last byte of the body, including redirects and challenges; for
  /// an inbound request, from its begin to its end. In whole nanoseconds, at most 292 years.
  public var duration: Duration {
    get { .nanoseconds(elapsed) }
    set { elapsed = newValue.nanoseconds }
  }
  /// How the request ended.
  public var end: RequestEnd
  /// The text of the error from libcurl or the app (OpenTelemetry, `error.message`), for people and not for
  /// labels. `nil` if there was no error or no text. The userinfo of a URL in it becomes `REDACTED`.
  public var errorMessage: String? { didSet { errorMessage = errorMessage?.withoutUserinfo } }
  /// The bytes of the request's body, or `nil` if unknown. Unknown is not 0.
  public var requestBodySize: Int64?
  /// The bytes of the response's body, or `nil` if unknown. Unknown is not 0.
  public var responseBodySize: Int64?
  /// The time from the start of loading to the first byte of the last leg's response, which may be an interim
  /// one. `nil` if unknown, for example after an answered challenge. In whole nanoseconds.
  public var timeToFirstByte: Duration? {
    get { elapsedToFirstByte.map { .nanoseconds($0) } }
    set { elapsedToFirstByte = newValue?.nanoseconds }
  }
  /// Where the time went, as far as it is known.
  public var timings = RequestTimings()
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
  /// the round trip to the proxy. By HTTP/2 the connection may serve other requests too.
  public var networkRoundTrip: Duration? {
    get { roundTrip.map { .nanoseconds($0) } }
    set { roundTrip = newValue?.nanoseconds }
  }
  /// The number of segments sent again on the connection since its last reading, or `nil` if unknown.
  public var retransmittedSegments: Int?
  /// The number of times that the request was sent again, for a redirect or with credentials (OpenTelemetry,
  /// `http.request.resend_count`), or `nil` if unknown.
  public var resendCount: Int?
  /// The time until libcurl sent the request again, because the server had closed the connection under it, or
  /// `nil` if it did not. No phase includes it.
  public var timeToResend: Duration?
  /// Whether the response came from the session's cache.
  public var isFromCache = false
  /// Headers of the response, by name, for a consumer that may show some, as ``RequestDescription/headers``.
  public var responseHeaders: [String: String] = [:]

  /// ``duration`` as a number, which needs no arithmetic of 128 bits on its way into a histogram and a line.
  package var elapsed: Int64
  /// ``timeToFirstByte``, likewise.
  package var elapsedToFirstByte: Int64?
  /// ``networkRoundTrip``, likewise.
  package var roundTrip: Int64?

  /// Makes an observation. What else is known of the request is set afterwards.
  public init(
    request: RequestDescription, start: Timestamp, duration: Duration, end: RequestEnd,
    requestBodySize: Int64? = nil, responseBodySize: Int64? = nil
  ) {
    self.request = request
    self.start = start
    elapsed = duration.nanoseconds
    self.end = end
    self.requestBodySize = requestBodySize
    self.responseBodySize = responseBodySize
  }

  init(begun request: RequestDescription) {
    self.request = request
    start = Timestamp(nanosecondsSinceEpoch: 0)
    elapsed = 0
    end = .cancelled
  }
}

extension RequestObservation {
  package var outcome: RequestOutcome {
    switch end {
    case .response(let statusCode?) where request.direction.isError(statusCode): .httpError
    case .response: .ok
    case .failure: .error
    case .cancelled: .cancelled
    }
  }

  /// The status code of an error response, or the class of a failure; `nil` on success (OpenTelemetry,
  /// `error.type`).
  public var errorType: String? {
    switch end {
    case .response(let statusCode?) where request.direction.isError(statusCode): String(statusCode)
    case .failure(let type, _): type.rawValue
    case .response, .cancelled: nil
    }
  }

  /// When the request ended, at most the last moment that a timestamp can express.
  package var endTime: Timestamp {
    let (end, isTooLate) = start.nanosecondsSinceEpoch.addingReportingOverflow(max(0, elapsed))
    return Timestamp(nanosecondsSinceEpoch: isTooLate ? .max : end)
  }
}

/// The one-word result of a request.
package enum RequestOutcome: String, Sendable, Hashable, CaseIterable {
  /// A response that is no error.
  case ok
  /// A response with a status code of 500 to 599, or of 400 to 499 where the app is the client.
  case httpError = "http_error"
  /// No whole response.
  case error
  /// Cancelled by the app, or by the caller of an inbound request.
  case cancelled
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

/// How a request ended. Every started request ends in exactly one of these ways.
public enum RequestEnd: Sendable, Hashable {
  /// A response was received or sent in full, with any status code. A loader of the app's own may answer
  /// without a status code.
  case response(statusCode: Int?)
  /// The request failed without a complete response. It has a status code if the status line was received or
  /// sent.
  case failure(RequestErrorType, statusCode: Int?)
  /// The app cancelled the request, or the caller of an inbound request left. This is no error.
  case cancelled

  /// The status code of the response, if a head arrived.
  public var statusCode: Int? {
    switch self {
    case .response(let statusCode): statusCode
    case .failure(_, let statusCode): statusCode
    case .cancelled: nil
    }
  }
}

/// Why a request failed without a complete response: the values of `error_type` that are not status codes.
///
/// The set is closed, so the label stays bounded. `_OTHER` is the fallback of the OpenTelemetry conventions
/// for `error.type`.
public enum RequestErrorType: String, Sendable, Hashable, CaseIterable {
  /// A deadline passed: the request's, the resource's, or the connection's.
  case timeout
  /// The host name could not be resolved.
  case dns
  /// No connection could be made.
  case connect
  /// The connection broke after it was made.
  case connectionLost = "connection_lost"
  /// The TLS handshake failed, or the server's certificate was not accepted.
  case tls
  /// The chain of redirects was longer than Foundation follows.
  case tooManyRedirects = "too_many_redirects"
  /// The request's body could not be read, or the response's could not be decoded or stored.
  case body
  /// The URL has a scheme that no loader takes, or no host.
  case unsupportedURL = "unsupported_url"
  /// Anything else.
  case other = "_OTHER"
}

/// Where the time of a request went.
///
/// On Linux they come from libcurl's info of the transfer (`curl_easy_getinfo(3)`), in microseconds, and
/// from what the kernel knows of its connection (`TCP_INFO`, `tcp(7)`), with a resolution of 10 ms. On Apple
/// platforms they come from `URLSessionTaskMetrics`; this is untested. A phase that did not take place, or
/// whose length is unknown, is `nil`, not 0: a reused connection has no ``Phase/resolve``, ``Phase/connect``
/// and ``Phase/tls``. After redirects the phases are those of the last leg. The last phase of a failed or
/// cancelled request ends with the request. If no phase is unknown, they add up to the request's duration.
public struct RequestTimings: Sendable, Hashable {
  /// The phases, in their order. Their names are those of Prometheus's blackbox exporter.
  public enum Phase: String, Sendable, Hashable, CaseIterable {
    /// Waiting for a connection: all of the session's `httpMaximumConnectionsPerHost` are busy.
    case queue
    /// Looking up the host's name.
    case resolve
    /// Opening a TCP connection.
    case connect
    /// The TLS handshake.
    case tls
    /// Sending the request's body, until its last byte. `nil` below 10 ms, which then belong to
    /// ``processing``.
    case upload
    /// From the time when the request can be sent, or the end of its ``upload``, to the first byte of the
    /// response: the request travels, and the server works. An interim response, such as 103 Early Hints,
    /// ends it early.
    case processing
    /// ``processing`` and ``transfer`` in one, where the border between them is unknown: from the last byte of the
    /// request's body to the last of the response.
    case response
    /// From the first byte of the response to the last.
    case transfer
    /// Time in this process: before libcurl has the request, after its end, and while the response waits in
    /// the socket because the shared queue of all URLSessions is held or no processor is free.
    case local

    /// From 0 on.
    var place: Int {
      switch self {
      case .queue: 0
      case .resolve: 1
      case .connect: 2
      case .tls: 3
      case .upload: 4
      case .processing: 5
      case .response: 6
      case .transfer: 7
      case .local: 8
      }
    }
  }

  /// Nanoseconds by the place of the phase; negative where there is none.
  private var values = SIMD16<Int64>(repeating: -1)

  /// Makes timings without any phase.
  public init() {}

  /// The length of a phase, in whole nanoseconds. A negative length becomes `nil`.
  public subscript(phase: Phase) -> Duration? {
    get { self[nanoseconds: phase].map { .nanoseconds($0) } }
    set { self[nanoseconds: phase] = newValue?.nanoseconds }
  }

  package subscript(nanoseconds phase: Phase) -> Int64? {
    get { values[phase.place] < 0 ? nil : values[phase.place] }
    set { values[phase.place] = newValue ?? -1 }
  }

  /// Whether no phase is known.
  public var isEmpty: Bool { values == SIMD16(repeating: -1) }
}

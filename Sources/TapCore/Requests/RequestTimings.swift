/// Where the time of a request went.
///
/// The sources on Linux are libcurl's own account of the transfer (`curl_easy_getinfo(3)`), in microseconds, and the kernel's
/// account of its connection (`TCP_INFO`, `tcp(7)`), whose clock cannot tell less than 10 ms. On Apple's platforms it is
/// `URLSessionTaskMetrics`, where this was compiled and not run. A phase that did not take place, or whose length is unknown, is
/// `nil`, which is not 0: on a connection that was open there are no ``Phase/resolve``, ``Phase/connect`` and ``Phase/tls``. After
/// redirects the phases are those of the last leg. The last phase of a request that failed or was cancelled ends with it. Where
/// nothing is unknown, the phases add up to the request's duration.
public struct RequestTimings: Sendable, Hashable {
  /// The phases, in their order. The words are those of Prometheus's blackbox exporter.
  public enum Phase: String, Sendable, Hashable, CaseIterable {
    /// Waiting for a connection of the session's: `httpMaximumConnectionsPerHost` are busy.
    case queue
    /// Looking up the host's name.
    case resolve
    /// Opening a TCP connection.
    case connect
    /// The TLS handshake.
    case tls
    /// Sending the request's body: from when the request can be sent to the last byte. `nil` where it took less than 10 ms, which is
    /// then a part of ``processing``.
    case upload
    /// From when the request can be sent, or from the end of its ``upload``, to the first byte of the response: the request goes
    /// out, and the server works. An interim response, such as 103 Early Hints, ends it early.
    case processing
    /// From the first byte of the response to the last.
    case transfer
    /// Time in this process: before libcurl has the request and after its end, and while the response lies unread because the queue
    /// that all URLSessions share is held or no processor is free.
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
      case .transfer: 6
      case .local: 7
      }
    }
  }

  /// Nanoseconds by the place of the phase; negative where there is none.
  private var values = SIMD8<Int64>(repeating: -1)

  /// Makes timings without any phase.
  public init() {}

  /// The length of a phase, in whole nanoseconds. A negative one is taken for `nil`.
  public subscript(phase: Phase) -> Duration? {
    get { self[nanoseconds: phase].map { .nanoseconds($0) } }
    set { self[nanoseconds: phase] = newValue?.nanoseconds }
  }

  package subscript(nanoseconds phase: Phase) -> Int64? {
    get { values[phase.place] < 0 ? nil : values[phase.place] }
    set { values[phase.place] = newValue ?? -1 }
  }

  /// Whether nothing is known.
  public var isEmpty: Bool { values == SIMD8(repeating: -1) }
}

/// Where the time of a request went, from libcurl's info of the transfer (`curl_easy_getinfo(3)`) and what
/// the kernel knows of its connection (`TCP_INFO`, `tcp(7)`, with a resolution of 10 ms).
///
/// A phase that did not take place, or whose length is unknown, is `nil`, not 0. After redirects the phases
/// are those of the last leg. The last phase of a failed or cancelled request ends with the request. If no
/// phase is unknown, they add up to the request's duration.
public struct RequestTimings: Sendable, Equatable {
  /// The phases, in their order. Their names are those of Prometheus's blackbox exporter.
  public enum Phase: String, Sendable, Hashable, CaseIterable {
    /// Waiting for a connection: all of the session's `httpMaximumConnectionsPerHost` are busy.
    case queue
    /// Looking up the host's name.
    case resolve
    /// Opening a TCP connection. Through a tunnel of a proxy, all until the tunnel can be used: libcurl does
    /// not tell when the proxy has opened it.
    case connect
    /// The TLS handshake. `nil` in a proxy's tunnel.
    case tls
    /// Sending the request's body, until its last byte. `nil` below 10 ms, which then belong to
    /// ``processing``.
    case upload
    /// From the time when the request can be sent, or the end of its ``upload``, to the first byte of the
    /// response: the request travels, and the server works. An interim response, such as 103 Early Hints,
    /// ends it early.
    case processing
    /// ``processing`` and ``transfer`` in one, where the border between them is unknown: from the last byte
    /// of the request's body to the last of the response.
    case response
    /// From the first byte of the response to the last.
    case transfer
    /// Time in this process: before libcurl has the request, after its end, and while the response waits in
    /// the socket because the shared queue of all URLSessions is blocked or no processor is free.
    case local

    /// From 0 on.
    var index: Int {
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

  /// Nanoseconds by the index of the phase, negative for none; empty without phases. An array, because nine
  /// values inline would be most of what is copied of a request, and a served request has none.
  @usableFromInline var values: [Int64] = []

  private static let unknown = [Int64](repeating: -1, count: Phase.allCases.count)

  /// Makes timings without any phase.
  public init() {}

  /// The length of a phase, in whole nanoseconds. A negative length becomes `nil`.
  public subscript(phase: Phase) -> Duration? {
    get { self[nanoseconds: phase].map { .nanoseconds($0) } }
    set { self[nanoseconds: phase] = newValue?.nanoseconds }
  }

  package subscript(nanoseconds phase: Phase) -> Int64? {
    get { values.isEmpty || values[phase.index] < 0 ? nil : values[phase.index] }
    set {
      let value = max(-1, newValue ?? -1)
      if values.isEmpty {
        if value < 0 { return }
        values = Self.unknown
      }
      values[phase.index] = value
      if value < 0, values == Self.unknown { values = [] }
    }
  }

  /// Calls with the index of each phase that is known, in their order, and its length in nanoseconds.
  @inlinable
  package func forEach(_ body: (Int, Int64) -> Void) {
    for index in values.indices where values[index] >= 0 { body(index, values[index]) }
  }

  /// Adds the phases of another request. One that only one of them has is that one's.
  package mutating func add(_ other: borrowing RequestTimings) {
    if values.isEmpty {
      values = other.values
    } else {
      for index in other.values.indices where other.values[index] >= 0 {
        values[index] = max(0, values[index]) &+ other.values[index]
      }
    }
  }

  package var isEmpty: Bool { values.isEmpty }
}

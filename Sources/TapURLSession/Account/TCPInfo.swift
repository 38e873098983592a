import TapCore

#if canImport(Musl)
  import Musl
#elseif canImport(Glibc)
  import Glibc
#endif

/// What the kernel knows of a TCP connection (`struct tcp_info` in `include/uapi/linux/tcp.h`), as far as it is used here.
///
/// Times are in microseconds. ``sinceDataSent`` and ``sinceDataReceived`` are as fine as the kernel's tick; pure
/// acknowledgements and keep-alive probes do not count as data.
package struct TCPInfo: Sendable, Hashable {
  /// `tcpi_state` is TCP_ESTABLISHED: neither side has closed the connection.
  var isEstablished = true
  /// `tcpi_last_data_sent`
  var sinceDataSent: Int64 = 0
  /// `tcpi_last_data_recv`
  var sinceDataReceived: Int64 = 0
  /// `tcpi_total_retrans`: how many segments were sent again since the connection was opened.
  var retransmittedSegments = 0
  /// `tcpi_min_rtt`: the least round trip of the last 300 s (`net.ipv4.tcp_min_rtt_wlen`). Not `tcpi_rtt`, which has up to
  /// 40 ms of the server in it: a server acknowledges a request together with its answer.
  var roundTrip: Int64?
  /// `tcpi_data_segs_in`: how many segments with data have arrived.
  var receivedSegments: Int?

  init() {}

  /// Reads the structure as the kernel has filled it: an older kernel fills less. glibc's declaration ends before
  /// `tcpi_min_rtt`, so the values are read by their offsets.
  init?(_ bytes: UnsafeRawBufferPointer) {
    func number(at offset: Int) -> UInt32? {
      offset + 4 <= bytes.count ? bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self) : nil
    }
    guard let sent = number(at: 44), let received = number(at: 52), let retransmitted = number(at: 100) else {
      return nil
    }
    isEstablished = bytes[0] == 1
    sinceDataSent = Int64(sent) * 1_000
    sinceDataReceived = Int64(received) * 1_000
    retransmittedSegments = Int(retransmitted)
    // All bits are set as long as no round trip has been measured.
    roundTrip = number(at: 148).flatMap { $0 == .max ? nil : Int64($0) }
    receivedSegments = number(at: 152).map { Int($0) }
  }

  /// Asks the kernel. `nil` where the descriptor is no TCP socket, and where the kernel or a sandbox does not know the option.
  init?(of descriptor: Int32) {
    #if os(Linux)
      let info: TCPInfo? = withUnsafeTemporaryAllocation(byteCount: 256, alignment: 8) { buffer in
        guard let base = buffer.baseAddress else { return nil }
        var count = socklen_t(buffer.count)
        // TCP_INFO is 11 on every Linux.
        guard getsockopt(descriptor, Int32(IPPROTO_TCP), 11, base, &count) == 0 else { return nil }
        return TCPInfo(UnsafeRawBufferPointer(start: base, count: min(Int(count), buffer.count)))
      }
      guard let info else { return nil }
      self = info
    #else
      return nil
    #endif
  }

  /// What the kernel's clock cannot tell from 0, in microseconds: two ticks, and 10 ms at least.
  static let resolution: Int64 = {
    #if os(Linux)
      var tick = timespec()
      // The coarse clock advances with the ticks by which the kernel notes when data was sent.
      guard clock_getres(CLOCK_MONOTONIC_COARSE, &tick) == 0 else { return 20_000 }
      return max(10_000, 2 * Int64(tick.tv_nsec) / 1_000)
    #else
      return 20_000
    #endif
  }()
}

extension TCPInfo {
  /// What was read of a transfer's connection at its end, and before.
  package struct Reading: Sendable, Hashable {
    var info: TCPInfo
    /// At the connection's previous reading: all zero if the transfer has opened it, `nil` if that is unknown.
    var previous: TCPInfo?

    /// What was sent again since the previous reading.
    var retransmittedSegments: Int? {
      previous.map { max(0, info.retransmittedSegments - $0.retransmittedSegments) }
    }

    /// Nothing was sent again since the previous reading: the last data that was sent was sent for the first time.
    var hasNoRetransmission: Bool {
      info.retransmittedSegments == previous?.retransmittedSegments ?? 0
    }

    /// One segment with data has arrived since the previous reading, so the response came in it as a whole. The reading may
    /// have been before earlier responses: then there are more.
    var isOneSegment: Bool {
      guard let now = info.receivedSegments, let before = previous?.receivedSegments else { return false }
      return now - before == 1
    }
  }
}

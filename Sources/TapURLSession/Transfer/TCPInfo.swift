import Synchronization
import TapLibc

/// What the kernel knows of a TCP connection (`struct tcp_info` in `include/uapi/linux/tcp.h`), as far as it
/// is used here.
///
/// Times are in nanoseconds. ``sinceDataSent`` and ``sinceDataReceived`` are as fine as the kernel's tick;
/// pure acknowledgements and keep-alive probes do not count as data.
package struct TCPInfo: Sendable, Hashable {
  /// `tcpi_state`: `TCP_ESTABLISHED` to `TCP_CLOSING`, 1 to 11. 0 is no state.
  var state: UInt8 = 1
  /// `tcpi_last_data_sent`, or `nil` where the kernel may not note it.
  var sinceDataSent: Int64? = 0
  /// `tcpi_last_data_recv`
  var sinceDataReceived: Int64 = 0
  /// `tcpi_total_retrans`: how many segments were sent again since the connection was opened.
  var retransmittedSegments = 0
  /// `tcpi_min_rtt`: the least round trip of the last 300 s (`net.ipv4.tcp_min_rtt_wlen`). Not `tcpi_rtt`,
  /// which has up to 40 ms of the server in it: a server acknowledges a request together with its answer.
  var roundTrip: Int64?
  /// `tcpi_notsent_bytes`: what was handed to the kernel and is not sent yet.
  var unsentBytes: UInt32?
  /// `tcpi_data_segs_in`: how many segments with data have arrived.
  var receivedSegments: Int? = 0
  /// `tcpi_bytes_received`
  var receivedBytes: UInt64?

  /// The info of a connection that has just been opened.
  init() {}

  /// Reads the structure as the kernel has filled it: an older kernel fills less. glibc's declaration ends
  /// before `tcpi_bytes_received`, so the values are read by their offsets.
  init?(_ bytes: UnsafeRawBufferPointer) {
    func number<Number: FixedWidthInteger & BitwiseCopyable>(at offset: Int) -> Number? {
      offset + MemoryLayout<Number>.size <= bytes.count
        ? bytes.loadUnaligned(fromByteOffset: offset, as: Number.self) : nil
    }
    guard let sent: UInt32 = number(at: 44), let received: UInt32 = number(at: 52),
      let retransmitted: UInt32 = number(at: 100)
    else { return nil }
    (state, retransmittedSegments) = (bytes[0], Int(retransmitted))
    (sinceDataSent, sinceDataReceived) = (Int64(sent) * 1_000_000, Int64(received) * 1_000_000)
    (receivedBytes, unsentBytes) = (number(at: 128), number(at: 144))
    // All bits are set as long as no round trip has been measured. A kernel that measures none leaves 0.
    roundTrip = (number(at: 148) as UInt32?).flatMap { $0 == .max || $0 == 0 ? nil : Int64($0) * 1_000 }
    receivedSegments = (number(at: 152) as UInt32?).map { Int($0) }
  }

  /// Asks the kernel. `nil` where the descriptor is no TCP socket, and where the kernel or a sandbox does not
  /// know the option.
  init?(of descriptor: Int32) {
    let info: TCPInfo? = withUnsafeTemporaryAllocation(byteCount: 256, alignment: 8) { buffer in
      guard let base = buffer.baseAddress else { return nil }
      var count = socklen_t(buffer.count)
      // TCP_INFO is 11 on every Linux. Other systems have no info of libcurl's, so nothing is asked there.
      guard getsockopt(descriptor, Int32(IPPROTO_TCP), 11, base, &count) == 0 else { return nil }
      return TCPInfo(UnsafeRawBufferPointer(start: base, count: min(Int(count), buffer.count)))
    }
    guard let info else { return nil }
    self = info
  }

  /// Neither side has closed the connection.
  var isEstablished: Bool { state == 1 }

  /// The longest time that the kernel's clock cannot tell from 0: two ticks, and 10 ms at least.
  static let resolution: Int64 = {
    #if os(Linux)
      var tick = timespec()
      // The coarse clock advances with the ticks by which the kernel notes when data was sent.
      guard clock_getres(CLOCK_MONOTONIC_COARSE, &tick) == 0 else { return 20_000_000 }
      return max(10_000_000, 2 * Int64(tick.tv_nsec))
    #else
      return 20_000_000
    #endif
  }()
}

/// A sandbox may answer without knowing: with zeros, with a short structure, or with the state and a round
/// trip alone (gVisor).
extension TCPInfo {
  /// Whether the kernel knows a new socket, which is closed (`TCP_CLOSE`). Asked once: a sandbox does not
  /// change.
  static let isKnown: Bool = {
    #if os(Linux)
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
      defer { close(descriptor) }
      return TCPInfo(of: descriptor)?.state == 7
    #else
      return false
    #endif
  }()

  private static let isClockSeen = Atomic<Bool>(false)

  /// Whether what the kernel says is used: it knows a new socket, and did not contradict libcurl too often.
  static var isUsed: Bool { isKnown && Witness.kernel.isBelieved }

  /// Whether this can be the connection at the end of a transfer.
  ///
  /// - Parameter delay: Nanoseconds from that end to when the kernel was asked: on a busy machine more than
  ///   its clock can tell.
  func agrees(with transfer: borrowing TransferInfo, after delay: Int64 = 0) -> Bool {
    let most = transfer.longest + delay
    guard 1...11 ~= state, sinceDataSent ?? 0 <= most else { return false }
    // Without a response hardly anything could contradict.
    guard transfer.statusCode ?? 0 > 0 else { return true }
    return sinceDataReceived <= most && receivedSegments != 0
      && receivedBytes.map { $0 >= max(1, transfer.receivedBytes ?? 0) } != false
  }

  /// A value that may be 0 because the kernel does not note it becomes `nil`, and so does a round trip longer
  /// than the transfer.
  mutating func discardUnknown(in transfer: borrowing TransferInfo) {
    // The response comes at least a round trip after the request.
    if let roundTrip, roundTrip > transfer.longest { self.roundTrip = nil }
    if sinceDataSent != 0 {
      Self.isClockSeen.store(true, ordering: .relaxed)
    } else if !Self.isClockSeen.load(ordering: .relaxed) {
      sinceDataSent = nil
    }
  }
}

extension TransferInfo {
  /// All data of the transfer came at most this long before its end.
  fileprivate var longest: Int64 { max(elapsed, total) + resolution }
}

extension TCPInfo {
  /// What was read of a transfer's connection at its end, and before.
  package struct Reading: Sendable, Hashable {
    var info: TCPInfo
    /// At the connection's previous reading: all zero if the transfer has opened it, `nil` if that is
    /// unknown.
    var previous: TCPInfo?

    /// What was sent again since the previous reading.
    var retransmittedSegments: Int? {
      previous.map { max(0, info.retransmittedSegments - $0.retransmittedSegments) }
    }

    /// Nothing was sent again since the previous reading: the last data that was sent was sent for the first
    /// time.
    var hasNoRetransmission: Bool { info.retransmittedSegments == previous?.retransmittedSegments ?? 0 }

    /// One segment with data has arrived since the previous reading, so the response came in it as a whole.
    /// The reading may have been before earlier responses: then there are more.
    var isOneSegment: Bool {
      previous?.receivedSegments.flatMap { before in info.receivedSegments.map { $0 - before == 1 } } ?? false
    }
  }
}

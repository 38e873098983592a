import TestSupport

@testable import TapURLSession

struct TCPInfoTests {
  @Test func `what an older kernel does not fill is absent`() {
    var bytes = [UInt8](repeating: 0, count: 160)
    func set(_ value: UInt32, at offset: Int) {
      withUnsafeBytes(of: value) { source in bytes.replaceSubrange(offset..<offset + 4, with: source) }
    }
    func info(_ count: Int) -> TCPInfo? {
      bytes.withUnsafeBytes { TCPInfo(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
    }
    bytes[0] = 8
    for (offset, value) in [(44, 300), (52, 12), (100, 3), (128, 900), (144, 70), (148, 40_700), (152, 8)] {
      set(UInt32(value), at: offset)
    }
    let oldest = with(TCPInfo()) {
      ($0.state, $0.retransmittedSegments, $0.receivedSegments) = (8, 3, nil)
      ($0.sinceDataSent, $0.sinceDataReceived) = (300_000_000, 12_000_000)
    }
    let counts = with(oldest) { $0.receivedBytes = 900 }
    let tellsUnsent = with(counts) { $0.unsentBytes = 70 }
    let measures = with(tellsUnsent) { $0.roundTrip = 40_700_000 }
    let newest = with(measures) { $0.receivedSegments = 8 }
    expectEqual(
      [103, 104, 135, 136, 147, 148, 151, 152, 155, 156, 160].map(info),
      [nil, oldest, oldest, counts, counts, tellsUnsent, tellsUnsent, measures, measures, newest, newest])
    #expect(!newest.isEstablished && TCPInfo().isEstablished)
    // As long as none is measured, and where none ever is.
    let noRoundTrips = [UInt32.max, 0].map { none in
      set(none, at: 148)
      return info(160)
    }
    expectEqual(noRoundTrips, [with(newest) { $0.roundTrip = nil }, with(newest) { $0.roundTrip = nil }])
  }

  /// A kernel's clock cannot have begun before the transfer.
  @Test func `what the kernel says must fit in the transfer's time`() {
    typealias Change = (inout TCPInfo, inout TransferInfo) -> Void
    func agrees(after delay: Int64 = 0, _ change: Change) -> Bool {
      var (info, transfer) = (TCPInfo(), TransferInfo())
      (transfer.elapsed, transfer.total, transfer.statusCode) = (1_000_000_000, 900_000_000, 200)
      (transfer.receivedBytes, info.receivedBytes, info.receivedSegments) = (100, 300, 1)
      (info.sinceDataSent, info.sinceDataReceived) = (1_000_000_000, 1_000_000_000)
      change(&info, &transfer)
      return info.agrees(with: transfer, after: delay)
    }
    let sentBefore: Change = { info, _ in info.sinceDataSent = 1_100_000_000 }
    let fits: [Change] = [
      { _, _ in }, { info, _ in info.receivedBytes = 100 }, { info, _ in info.state = 11 },
      // Without a response nothing has been received.
      { ($0.receivedBytes, $0.receivedSegments, $1.statusCode) = (0, 0, 0) },
      { ($0.sinceDataReceived, $1.statusCode) = (.max, 0) },
      // An older kernel does not count.
      { info, _ in (info.receivedBytes, info.receivedSegments) = (nil, nil) },
      // The kernel's clock is as fine as its tick. libcurl's total may be longer than the tap's time.
      { info, _ in info.sinceDataSent = 1_000_000_000 + TCPInfo.resolution },
      { ($0.sinceDataSent, $1.total) = (1_100_000_000, 1_100_000_000) },
    ]
    let contradicts: [Change] = [
      sentBefore, { info, _ in info.sinceDataReceived = 1_100_000_000 },
      { info, _ in info.state = 0 }, { info, _ in info.state = 12 },
      { info, _ in info.receivedBytes = 99 }, { info, _ in info.receivedSegments = 0 },
      { ($0.receivedBytes, $1.receivedBytes) = (0, 0) },
      { info, _ in info.sinceDataSent = 1_000_000_001 + TCPInfo.resolution },
    ]
    let all = fits + contradicts
    expectEqual(all.map { agrees($0) }, all.indices.map { $0 < fits.count })
    #expect(agrees(after: 100_000_000, sentBefore))
  }

  @Test func `what the kernel may not know is not kept`() {
    let transfer = with(TransferInfo()) { $0.elapsed = 20_000_000 }
    func kept<Value>(_ property: WritableKeyPath<TCPInfo, Value>, _ value: Value) -> Value {
      var info = TCPInfo()
      info[keyPath: property] = value
      info.discardUnknown(in: transfer)
      return info[keyPath: property]
    }
    let longest = 20_000_000 + TCPInfo.resolution
    let roundTrips = [20_000_000, longest, longest + 1].map { kept(\.roundTrip, $0) }
    #expect(roundTrips == [20_000_000, longest, nil])
    // A kernel whose clock has been seen to move says 0 where it means it.
    expectEqual([1, 0].map { kept(\.sinceDataSent, $0) }, [1, 0])
  }
}

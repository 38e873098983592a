import TapCore
import Testing

@testable import TapURLSession

/// The rules by which phases follow from libcurl's account, the kernel's and the tap's clock, case by case.
@Suite struct TransferPhasesTests {
  struct Case: CustomTestStringConvertible, Sendable {
    let testDescription: String
    var account: TransferAccount
    /// In microseconds.
    var phases: [RequestTimings.Phase: Int64]
    /// In microseconds from the start.
    var firstByte: Int64?
    /// Nothing is unknown: the phases add up to the duration.
    var addsUp = true

    init(
      _ description: String, _ phases: [RequestTimings.Phase: Int64], firstByte: Int64? = nil,
      addsUp: Bool = true,
      _ change: (inout TransferAccount) -> Void
    ) {
      testDescription = description
      self.phases = phases
      self.firstByte = firstByte
      self.addsUp = addsUp
      // A GET by HTTP/1.1 on a connection that was open: 300 ms of the server's, 100 µs around libcurl.
      account = TransferAccount()
      account.statusCode = 200
      account.connectionCount = 0
      account.protocolVersion = .http11
      account.sentBytes = 0
      account.nameLookup = 20
      account.preTransfer = 50
      account.startTransfer = 300_000
      account.total = 301_000
      account.resolution = 10_000
      change(&account)
      if account.elapsed == 0 { account.elapsed = (account.total + 100) * 1_000 }
    }
  }

  /// What the kernel says, in milliseconds.
  private static func connection(
    sent: Int64, received: Int64 = 0, segments: Int = 2, retransmitted: Int = 0, knowsPrevious: Bool = true
  ) -> TCPInfo.Reading {
    var (info, previous) = (TCPInfo(), TCPInfo())
    (info.sinceDataSent, info.sinceDataReceived) = (sent * 1_000, received * 1_000)
    (info.receivedSegments, previous.receivedSegments) = (7 + segments, 7)
    info.retransmittedSegments = retransmitted
    return TCPInfo.Reading(info: info, previous: knowsPrevious ? previous : nil)
  }

  static let waits: [Case] = [
    Case(
      "libcurl says the wait", [.queue: 500_000, .processing: 299_950, .transfer: 1_000, .local: 150],
      firstByte: 800_100
    ) { account in
      account.queue = 500_000
      account.total = 801_000
    },
    Case(
      "the response took less than 10 ms, so the wait did",
      [.processing: 299_950, .transfer: 9_999, .local: 150],
      firstByte: 300_100
    ) { account in account.total = 309_999 },
    Case("nobody says it", [.processing: 299_950, .local: 150], addsUp: false) { account in
      account.total = 801_000
    },
    Case(
      "the kernel says it", [.queue: 500_950, .processing: 299_950, .transfer: 50, .local: 150],
      firstByte: 801_050
    ) { account in
      account.total = 801_000
      account.connection = connection(sent: 300)
    },
    Case(
      "the kernel says that there was none", [.processing: 299_950, .transfer: 500_950, .local: 150],
      firstByte: 300_100
    ) { account in
      account.total = 800_950
      account.connection = connection(sent: 796)
    },
    Case("by HTTP/2 others send on the socket", [.processing: 299_950, .local: 150], addsUp: false) {
      account in
      account.total = 801_000
      account.protocolVersion = .http2
      account.connection = connection(sent: 300)
    },
    Case(
      "even by HTTP/2 nothing was sent before the wait's end",
      [.processing: 299_950, .transfer: 500_950, .local: 150], firstByte: 300_100
    ) { account in
      account.total = 800_950
      account.protocolVersion = .http2
      account.connection = connection(sent: 792)
    },
    Case("the request may have been sent again", [.processing: 299_950, .local: 150], addsUp: false) {
      account in
      account.total = 801_000
      account.connection = connection(sent: 300, retransmitted: 1)
    },
    Case("something was sent after the request", [.processing: 299_950, .local: 150], addsUp: false) {
      account in
      account.total = 801_000
      account.connection = connection(sent: 0)
    },
    Case("the end of a TLS connection sends an alert", [.processing: 299_950, .local: 150], addsUp: false) {
      account in
      account.total = 801_000
      account.seen.isSecure = true
      account.isClosing = true
      account.connection = connection(sent: 300)
    },
    Case(
      "a failure over TLS sends an alert", [.processing: 299_950], addsUp: false
    ) { account in
      account.total = 801_000
      account.seen.isSecure = true
      account.end = .failed
      account.seen.isRestarted = true
      account.connection = connection(sent: 300)
    },
    Case(
      "there was a connection for each transfer", [.processing: 299_950, .transfer: 501_000, .local: 150],
      firstByte: 300_100
    ) { account in
      account.total = 801_000
      account.hasHadRoom = true
    },
    Case(
      "a delegate had the head before there could be a wait",
      [.processing: 299_950, .transfer: 501_000, .local: 150], firstByte: 300_100
    ) { account in
      account.total = 801_000
      account.elapsed = 801_100_000
      account.seen.head = 300_600_000
    },
    Case("a head that comes late says nothing", [.processing: 299_950, .local: 150], addsUp: false) {
      account in
      account.total = 801_000
      account.elapsed = 801_100_000
      account.seen.head = 600_000_000
    },
  ]

  static let ends: [Case] = [
    Case(
      "a first request has all phases",
      [
        .resolve: 100, .connect: 400, .tls: 1_500, .processing: 297_900, .transfer: 1_000, .local: 200,
      ], firstByte: 300_100
    ) { account in
      (account.connectionCount, account.seen.isSecure) = (1, true)
      (account.nameLookup, account.connect, account.appConnect, account.preTransfer) = (
        100, 500, 2_000, 2_100
      )
    },
    Case("a name that is not found", [.resolve: 127_905, .local: 100]) { account in
      account = TransferAccount()
      account.total = 127_905
      account.end = .failed
      account.hasHadRoom = true
    },
    Case("a name, or a wait", [.local: 100], addsUp: false) { account in
      account = TransferAccount()
      account.total = 127_905
      account.end = .failed
    },
    Case("a connection that is refused", [.resolve: 20, .connect: 110, .local: 100]) { account in
      account = TransferAccount()
      (account.nameLookup, account.total) = (20, 130)
      account.end = .failed
    },
    Case("a silent server", [.processing: 1_999_950, .local: 150]) { account in
      (account.startTransfer, account.statusCode, account.protocolVersion) = (0, 0, nil)
      account.total = 2_000_000
      account.end = .failed
      account.connection = connection(sent: 2_000)
    },
    Case("a cancel after a wait", [.queue: 249_950, .processing: 200_000], addsUp: false) { account in
      (account.startTransfer, account.statusCode, account.protocolVersion) = (0, 0, nil)
      account.total = 76
      account.end = .cancelled
      account.elapsed = 450_000_000
      account.connection = connection(sent: 200)
    },
    Case("a cancel after a redirect", [.processing: 299_950], addsUp: false) { account in
      account.redirectCount = 1
      account.end = .cancelled
      account.elapsed = 900_000_000
    },
    Case(
      "the last leg of a redirect", [.processing: 299_950, .transfer: 1_000], firstByte: 898_999,
      addsUp: false
    ) { account in
      account.redirectCount = 1
      account.elapsed = 899_999_000
    },
    Case(
      "a task that was suspended", [.processing: 299_950, .transfer: 1_000], firstByte: 898_999, addsUp: false
    ) {
      account in
      account.seen.isRestarted = true
      account.elapsed = 899_999_000
    },
    Case(
      "a redirect that the app took 500 ms to refuse",
      [.processing: 299_950, .transfer: 1_000, .local: 500_050], firstByte: 300_000
    ) { account in
      account.isHeldByApp = true
      account.elapsed = 801_000_000
      account.connection = connection(sent: 800, received: 500, segments: 1)
    },
  ]

  static let unread: [Case] = [
    Case(
      "a response in one piece that lay unread", [.processing: 212_950, .transfer: 0, .local: 88_150],
      firstByte: 213_100
    ) { account in account.connection = connection(sent: 300, received: 88, segments: 1) },
    Case(
      "the last of a long response lay unread", [.processing: 299_950, .transfer: 412_950, .local: 88_150],
      firstByte: 300_100
    ) { account in
      account.total = 800_950
      account.connection = connection(sent: 800, received: 88, segments: 90)
    },
    Case(
      "all of a response in pieces lay unread", [.processing: 212_950, .transfer: 0, .local: 88_150],
      firstByte: 213_100
    ) { account in account.connection = connection(sent: 300, received: 88, segments: 3) },
    Case(
      "less than the kernel's clock can tell", [.processing: 299_950, .transfer: 1_000, .local: 150],
      firstByte: 300_100
    ) { account in account.connection = connection(sent: 300, received: 8, segments: 1) },
    Case(
      "the end was that of the connection", [.processing: 299_950, .transfer: 501_000, .local: 150],
      firstByte: 300_100
    ) { account in
      account.total = 801_000
      account.connection = connection(sent: 800, received: 400, segments: 1)
      account.connection?.info.isEstablished = false
    },
    Case(
      "by HTTP/2 others receive on the socket", [.processing: 299_950, .transfer: 1_000, .local: 150],
      firstByte: 300_100
    ) {
      account in
      account.protocolVersion = .http2
      account.connection = connection(sent: 300, received: 88, segments: 1)
    },
  ]

  static let uploads: [Case] = [
    Case("a short one", [.processing: 300_950, .transfer: 0, .local: 150], firstByte: 301_100) {
      account in
      (account.sentBytes, account.startTransfer) = (200, 60)
      account.connection = connection(sent: 296, segments: 1)
    },
    Case(
      "a long one", [.upload: 500_950, .processing: 300_000, .transfer: 0, .local: 150], firstByte: 801_100
    ) {
      account in
      (account.sentBytes, account.startTransfer, account.total) = (9_000_000, 60, 801_000)
      account.hasHadRoom = true
      account.connection = connection(sent: 300, segments: 1)
    },
    Case(
      "one whose wait is unknown", [.processing: 300_000, .transfer: 0, .local: 150], firstByte: 801_100,
      addsUp: false
    ) {
      account in
      (account.sentBytes, account.startTransfer, account.total) = (9_000_000, 60, 801_000)
      account.connection = connection(sent: 300, segments: 1)
    },
    Case(
      "one whose response lay unread, by ticks for longer than there was",
      [
        .processing: 0, .transfer: 0, .local: 301_100,
      ], firstByte: 150
    ) { account in
      (account.sentBytes, account.startTransfer) = (200, 60)
      account.connection = connection(sent: 304, received: 304, segments: 1)
    },
    Case("one whose response came in pieces", [.upload: 500_950, .local: 150], addsUp: false) {
      account in
      (account.sentBytes, account.startTransfer, account.total) = (9_000_000, 60, 801_000)
      account.hasHadRoom = true
      account.connection = connection(sent: 300, segments: 2)
    },
    Case("one by HTTP/2", [.local: 150], addsUp: false) { account in
      (account.sentBytes, account.startTransfer, account.protocolVersion) = (200, 60, .http2)
      account.connection = connection(sent: 300, segments: 1)
    },
    Case("one that nothing is known of", [.local: 150], addsUp: false) { account in
      (account.sentBytes, account.startTransfer) = (200, 60)
    },
    Case("one of which all may have been sent again", [.local: 150], addsUp: false) {
      account in
      (account.sentBytes, account.startTransfer, account.total) = (60_000, 60, 801_000)
      account.hasHadRoom = true
      account.connection = connection(sent: 300, segments: 1, retransmitted: 1)
    },
    Case(
      "a long one of which a part was sent again",
      [.upload: 500_950, .processing: 300_000, .transfer: 0, .local: 150], firstByte: 801_100
    ) { account in
      (account.sentBytes, account.startTransfer, account.total) = (9_000_000, 60, 801_000)
      account.hasHadRoom = true
      account.connection = connection(sent: 300, segments: 1, retransmitted: 1)
    },
    Case(
      "a short one that was sent again", [.processing: 300_950, .transfer: 0, .local: 150], firstByte: 301_100
    ) {
      account in
      (account.sentBytes, account.startTransfer) = (200, 60)
      account.connection = connection(sent: 296, segments: 1, retransmitted: 1)
    },
    Case(
      "one whose response lay unread", [.processing: 212_950, .transfer: 0, .local: 88_150],
      firstByte: 213_100
    ) { account in
      (account.sentBytes, account.startTransfer) = (200, 60)
      account.connection = connection(sent: 300, received: 88, segments: 1)
    },
    Case("one that was answered before its end", [.upload: 276_950, .local: 150], addsUp: false) {
      account in
      (account.sentBytes, account.startTransfer) = (9_000_000, 60)
      account.hasHadRoom = true
      account.connection = connection(sent: 24, received: 88, segments: 1)
    },
    Case("one that got stuck", [.upload: 1_999_950, .local: 150]) { account in
      (account.sentBytes, account.startTransfer, account.statusCode) = (2_000_000, 60, 0)
      account.protocolVersion = nil
      account.total = 2_000_000
      account.end = .failed
      account.bodySize = 9_000_000
      account.hasHadRoom = true
      account.connection = connection(sent: 1_600)
    },
    Case("one that was not answered", [.upload: 399_950, .processing: 1_600_000, .local: 150]) {
      account in
      (account.sentBytes, account.startTransfer, account.statusCode) = (9_000_000, 60, 0)
      account.protocolVersion = nil
      account.total = 2_000_000
      account.end = .failed
      account.bodySize = 9_000_000
      account.hasHadRoom = true
      account.connection = connection(sent: 1_600)
    },
  ]

  @Test(arguments: waits + ends + unread + uploads)
  func `phases follow from what is known`(example: Case) {
    var account = example.account
    account.findPhases()
    var found: [RequestTimings.Phase: Int64] = [:]
    for phase in RequestTimings.Phase.allCases {
      if let nanoseconds = account.timings[nanoseconds: phase] { found[phase] = nanoseconds / 1_000 }
    }
    #expect(found == example.phases)
    #expect(account.firstByte.map { $0 / 1_000 } == example.firstByte)
    if example.addsUp { #expect(found.values.reduce(0, +) == account.elapsed / 1_000) }
  }

  @Test func `what an older kernel does not fill is absent`() throws {
    var bytes = [UInt8](repeating: 0, count: 160)
    func set(_ value: UInt32, at offset: Int) {
      withUnsafeBytes(of: value) { source in bytes.replaceSubrange(offset..<offset + 4, with: source) }
    }
    bytes[0] = 1
    set(300, at: 44)
    set(12, at: 52)
    set(3, at: 100)
    set(40_700, at: 148)
    set(8, at: 152)
    let whole = try #require(bytes.withUnsafeBytes { TCPInfo($0) })
    #expect(whole.isEstablished)
    #expect(whole.sinceDataSent == 300_000 && whole.sinceDataReceived == 12_000)
    #expect(whole.retransmittedSegments == 3 && whole.roundTrip == 40_700 && whole.receivedSegments == 8)
    let older = try #require(bytes.withUnsafeBytes { TCPInfo(UnsafeRawBufferPointer(rebasing: $0[..<104])) })
    #expect(older.retransmittedSegments == 3 && older.roundTrip == nil && older.receivedSegments == nil)
    #expect(bytes.withUnsafeBytes { TCPInfo(UnsafeRawBufferPointer(rebasing: $0[..<100])) } == nil)
    set(.max, at: 148)
    #expect(bytes.withUnsafeBytes { TCPInfo($0) }?.roundTrip == nil)
  }

  @Test func `a count knows since when there was room`() {
    let count = TransferCount()
    let instants = (0..<6).map { Instant(nanoseconds: Int64($0) * 1_000) }
    count.enter(limit: 2, at: instants[0])
    count.enter(limit: 2, at: instants[1])
    #expect(count.leave(at: instants[2], since: instants[0]))
    count.enter(limit: 2, at: instants[2])
    count.enter(limit: 2, at: instants[3])
    #expect(!count.leave(at: instants[4], since: instants[0]))
    #expect(!count.leave(at: instants[5], since: instants[4]))
    #expect(count.leave(at: instants[5], since: instants[5]))
  }
}

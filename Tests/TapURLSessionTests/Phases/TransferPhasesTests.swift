import TestSupport

@testable import TapURLSession

/// The rules by which phases follow from libcurl's info, the kernel's and the tap's clock, case by case.
@Suite struct TransferPhasesTests {
  struct Case: CustomTestStringConvertible, Sendable {
    let testDescription: String
    /// All of a case is in microseconds, but for what the kernel says.
    var transfer: TransferInfo
    var phases: [RequestTimings.Phase: Int64]
    /// From the start; of what has been transferred after 300 ms, unless a case says otherwise.
    var firstByte: Int64?
    /// The phase in which it ended without a whole response.
    var cutOff: RequestTimings.Phase?

    init(
      _ description: String, _ phases: [RequestTimings.Phase: Int64], firstByte: Int64? = nil,
      cutOff: RequestTimings.Phase? = nil, upload: Int64? = nil, total: Int64 = 301_000,
      kernel: TCPInfo.Reading? = nil, version: NetworkProtocolVersion = .http11, elapsed: Int64 = 0,
      isFree: Bool = false, isSecure: Bool = false, isAnswered: Bool = true,
      end: TransferInfo.End = .complete, _ change: (inout TransferInfo) -> Void = { _ in }
    ) {
      (testDescription, self.phases, self.cutOff) = (description, phases, cutOff)
      self.firstByte = firstByte ?? (phases[.transfer] == nil ? nil : 300_100)
      // A GET by HTTP/1.1 on a connection that was open: 300 ms of the server's, 100 µs around libcurl.
      transfer = TransferInfo()
      (transfer.statusCode, transfer.protocolVersion) = isAnswered ? (200, version) : (0, nil)
      (transfer.connectionCount, transfer.sentBytes, transfer.resolution) = (0, 0, 10_000_000)
      (transfer.nameLookup, transfer.preTransfer, transfer.startTransfer) = (20, 50, 300_000)
      (transfer.total, transfer.elapsed, transfer.end) = (total, elapsed, end)
      (transfer.hadFreeConnection, transfer.relay.isSecure) = (isFree, isSecure)
      // libcurl takes the beginning of an upload for the first byte.
      if let upload { (transfer.sentBytes, transfer.startTransfer) = (upload, 60) }
      transfer.connection = kernel
      change(&transfer)
      if transfer.elapsed == 0 { transfer.elapsed = transfer.total + 100 }
      let times: [WritableKeyPath<TransferInfo, Int64>] = [
        \.elapsed, \.total, \.resend, \.nameLookup, \.connect, \.appConnect, \.preTransfer, \.startTransfer,
        \.relay.restart,
      ]
      for time in times { transfer[keyPath: time] *= 1_000 }
      for time in [\TransferInfo.queue, \.postTransfer, \.relay.head] { transfer[keyPath: time]? *= 1_000 }
    }
  }

  /// What the kernel says, in milliseconds.
  private static func tcp(
    sent: Int64, received: Int64 = 0, segments: Int = 2, retransmitted: Int = 0, knowsPrevious: Bool = true
  ) -> TCPInfo.Reading {
    var (info, previous) = (TCPInfo(), TCPInfo())
    (info.sinceDataSent, info.sinceDataReceived) = (sent * 1_000_000, received * 1_000_000)
    (info.receivedSegments, previous.receivedSegments) = (7 + segments, 7)
    info.unsentBytes = 0
    info.retransmittedSegments = retransmitted
    return TCPInfo.Reading(info: info, previous: knowsPrevious ? previous : nil)
  }

  static let waits: [Case] = [
    Case(
      "libcurl says the wait", [.queue: 500_000, .processing: 299_950, .transfer: 1_000, .local: 150],
      firstByte: 800_100, total: 801_000
    ) { $0.queue = 500_000 },
    Case(
      "libcurl says the wait, and the tap got the end late",
      [.queue: 500_000, .processing: 299_950, .transfer: 1_000, .local: 2_050], firstByte: 802_000,
      total: 801_000, elapsed: 803_000
    ) { ($0.queue, $0.relay.head) = (500_000, 800_150) },
    Case(
      "libcurl counts from the begin, and the wait twice",
      [.queue: 500_019, .processing: 299_931, .transfer: 1_000, .local: 150], firstByte: 800_100,
      total: 801_000
    ) {
      ($0.queue, $0.nameLookup, $0.preTransfer, $0.startTransfer) = (900_000, 500_020, 500_069, 800_000)
      $0.countFromTurn()
    },
    Case(
      "libcurl counts one twice", [.processing: 299_950, .local: 150], total: 801_000
    ) { $0.queue = 900_000 },
    Case(
      "a wait of a millisecond",
      [.queue: 1_000, .processing: 299_950, .transfer: 1_000, .local: 150], firstByte: 301_100, total: 302_000
    ) { $0.queue = 1_000 },
    Case(
      "less than a millisecond is none",
      [.processing: 299_950, .transfer: 1_001, .local: 1_149], firstByte: 301_099, total: 302_000
    ) { $0.queue = 999 },
    Case(
      "no connection was waited for", [.processing: 299_950, .transfer: 1_000, .local: 5_150],
      firstByte: 305_100, total: 306_000
    ) { ($0.queue, $0.hadFreeConnection) = (5_000, true) },
    Case(
      "the response took less than 10 ms", [.processing: 299_950, .transfer: 9_999, .local: 150],
      total: 309_999), Case("nobody says it", [.processing: 299_950, .local: 150], total: 801_000),
    Case(
      "the kernel says it", [.queue: 500_950, .processing: 299_950, .transfer: 50, .local: 150],
      firstByte: 801_050, total: 801_000, kernel: tcp(sent: 300)),
    Case(
      "the kernel says it by HTTP/1.0, of a connection on which something was sent again before",
      [.queue: 500_950, .processing: 299_950, .transfer: 50, .local: 150], firstByte: 801_050, total: 801_000,
      kernel: tcp(sent: 300, retransmitted: 1), version: .http10
    ) { $0.connection?.previous?.retransmittedSegments = 1 },
    Case(
      "the kernel says that there was none", [.processing: 299_950, .transfer: 500_950, .local: 150],
      total: 800_950, kernel: tcp(sent: 796)),
    Case(
      "by HTTP/2 others send on the socket", [.processing: 299_950, .local: 150],
      total: 801_000, kernel: tcp(sent: 300), version: .http2),
    Case(
      "by HTTP/2, and nothing was sent before", [.processing: 299_950, .transfer: 500_950, .local: 150],
      total: 800_950, kernel: tcp(sent: 792), version: .http2),
    Case(
      "the request may have been sent again", [.processing: 299_950, .local: 150],
      total: 801_000, kernel: tcp(sent: 300, retransmitted: 1)),
    Case(
      "something was sent after the request", [.processing: 299_950, .local: 150],
      total: 801_000, kernel: tcp(sent: 0)),
    Case(
      "the end of TLS sends an alert", [.processing: 299_950, .local: 150],
      total: 801_000, kernel: tcp(sent: 300), isSecure: true
    ) { $0.isClosing = true },
    Case(
      "TLS that the server has ended", [.processing: 299_950, .local: 150],
      total: 801_000, kernel: tcp(sent: 300), isSecure: true
    ) { $0.connection?.info.state = 8 },
    Case(
      "a failure over TLS sends an alert", [.processing: 299_950], cutOff: .transfer,
      total: 801_000, kernel: tcp(sent: 300), isSecure: true, end: .failed
    ) { $0.relay.restart = 1 },
    Case(
      "each transfer had a connection", [.processing: 299_950, .transfer: 501_000, .local: 150],
      total: 801_000, isFree: true),
    Case(
      "a delegate had the head before any wait", [.processing: 299_950, .transfer: 501_000, .local: 150],
      total: 801_000, elapsed: 801_100
    ) { $0.relay.head = 300_600 },
    Case(
      "a head that comes late says nothing", [.processing: 299_950, .local: 150],
      total: 801_000, elapsed: 801_100
    ) { $0.relay.head = 600_000 },
  ]

  static let ends: [Case] = [
    Case(
      "a first request has all phases",
      [.resolve: 100, .connect: 400, .tls: 1_500, .processing: 297_900, .transfer: 1_000, .local: 200],
      isSecure: true
    ) {
      ($0.connectionCount, $0.nameLookup, $0.connect, $0.appConnect) = (1, 100, 500, 2_000)
      $0.preTransfer = 2_100
    },
    Case("a name that is not found", [.resolve: 127_905, .local: 100], cutOff: .resolve) { transfer in
      transfer = TransferInfo()
      transfer.total = 127_905
      transfer.end = .failed
      transfer.hadFreeConnection = true
    },
    Case("what libcurl never began", [:]) { transfer in
      transfer = TransferInfo()
      transfer.end = .failed
    },
    Case("a name, or a wait", [.local: 100]) { transfer in
      transfer = TransferInfo()
      transfer.total = 127_905
      transfer.end = .failed
    },
    Case("a name, or a wait of which libcurl has said little", [.local: 100]) { transfer in
      transfer = TransferInfo()
      (transfer.total, transfer.queue, transfer.end) = (127_905, 9, .failed)
    },
    Case(
      "a name, and no wait, of which libcurl has said little", [.resolve: 127_896, .local: 109],
      cutOff: .resolve
    ) { transfer in
      transfer = TransferInfo()
      (transfer.total, transfer.queue, transfer.end) = (127_905, 9, .failed)
      transfer.hadFreeConnection = true
    },
    Case(
      "a connection that is refused after a long look-up",
      [.resolve: 500_000, .connect: 5_000, .local: 100], cutOff: .connect
    ) { transfer in
      transfer = TransferInfo()
      (transfer.nameLookup, transfer.total, transfer.end) = (500_000, 505_000, .failed)
    },
    Case(
      "a look-up that ended after the connection began",
      [.resolve: 500, .connect: 0, .processing: 299_400, .transfer: 1_000, .local: 200]
    ) { ($0.connectionCount, $0.nameLookup, $0.connect, $0.preTransfer) = (1, 500, 400, 600) },
    Case("a connection that is refused", [.resolve: 20, .connect: 110, .local: 100], cutOff: .connect) {
      transfer in
      transfer = TransferInfo()
      (transfer.nameLookup, transfer.total) = (20, 130)
      transfer.end = .failed
    },
    Case("a handshake without an end", [.resolve: 20, .tls: 110, .local: 100], cutOff: .tls) { transfer in
      transfer = TransferInfo()
      (transfer.relay.isSecure, transfer.connectionCount) = (true, 1)
      (transfer.nameLookup, transfer.total) = (20, 130)
      transfer.end = .failed
    },
    Case(
      "a silent server", [.processing: 1_999_950, .local: 150], cutOff: .processing, total: 2_000_000,
      kernel: tcp(sent: 2_000), isAnswered: false, end: .failed
    ) { $0.startTransfer = 0 },
    Case(
      "a silent server whose round trip is known", [.processing: 1_998_000, .local: 2_100],
      cutOff: .processing, total: 2_000_000, kernel: tcp(sent: 2_000), isAnswered: false, end: .failed
    ) {
      ($0.preTransfer, $0.startTransfer) = (2_000, 0)
      $0.connection?.info.roundTrip = 40_000_000
    },
    Case(
      "a cancel after a wait", [.queue: 249_950, .processing: 200_000], cutOff: .processing,
      total: 76, kernel: tcp(sent: 200), elapsed: 450_000, isAnswered: false, end: .cancelled
    ) { $0.startTransfer = 0 },
    Case(
      "a cancel after a redirect", [.processing: 299_950], cutOff: .transfer, elapsed: 900_000,
      end: .cancelled
    ) { $0.redirectCount = 1 },
    Case(
      "the last leg of a redirect", [.processing: 299_950, .transfer: 1_000], firstByte: 898_999,
      elapsed: 899_999
    ) { $0.redirectCount = 1 },
    Case(
      "a cancel after a suspension", [.upload: 99_950, .processing: 200_000], cutOff: .processing,
      upload: 9_000_000,
      total: 76, kernel: tcp(sent: 200), elapsed: 800_000, isFree: true, isAnswered: false, end: .cancelled
    ) { ($0.relay.restart, $0.bodySize) = (500_000, 9_000_000) },
    Case(
      "a cancel of a redirected upload, by a kernel that knows of no other time", [:], cutOff: .processing,
      upload: 200,
      kernel: tcp(sent: 904), elapsed: 900_000, isAnswered: false, end: .cancelled
    ) { ($0.redirectCount, $0.bodySize) = (1, 200) },
    Case(
      "a cancel of a redirected upload", [.processing: 500_000], cutOff: .processing, upload: 200,
      kernel: tcp(sent: 500), elapsed: 900_000, isAnswered: false, end: .cancelled
    ) { ($0.redirectCount, $0.bodySize) = (1, 200) },
    Case("a time that is longer than the request", [.resolve: 20, .local: 100]) {
      ($0.connectionCount, $0.connect) = (1, 10_000_000)
    },
    Case(
      "a total that is longer than the request, by another clock", [.processing: 299_950, .local: 50],
      firstByte: 299_900, elapsed: 300_900),
    Case(
      "a cancel whose total is longer than the request", [.processing: 299_950], firstByte: 299_900,
      cutOff: .transfer, elapsed: 300_900, end: .cancelled),
    Case(
      "one that was cut soon after its connection",
      [.resolve: 100, .connect: 99_900, .processing: 4_950, .local: 150], cutOff: .processing,
      total: 105_000, isAnswered: false, end: .failed
    ) {
      ($0.connectionCount, $0.nameLookup, $0.connect) = (1, 100, 100_000)
      ($0.preTransfer, $0.startTransfer) = (100_050, 0)
    },
    Case(
      "a connection that the server closed without a byte", [.processing: 300_950, .local: 150],
      cutOff: .processing,
      kernel: tcp(sent: 300, segments: 0), isAnswered: false, end: .failed),
    Case(
      "the same for a body", [.processing: 300_950, .local: 150], cutOff: .processing, upload: 200,
      kernel: tcp(sent: 300, segments: 0), isAnswered: false, end: .failed
    ) { $0.bodySize = 200 },
    Case(
      "a task that was suspended", [.processing: 299_950, .transfer: 1_000], firstByte: 898_999,
      elapsed: 899_999
    ) { $0.relay.restart = 1 },
    Case(
      "a redirect that the app refused late", [.processing: 299_950, .transfer: 1_000, .local: 500_050],
      firstByte: 300_000, kernel: tcp(sent: 800, received: 500, segments: 1), elapsed: 801_000
    ) { $0.isHeldByApp = true },
    Case(
      "a redirect that the app refused late, after a wait", [.processing: 299_950, .local: 500_050],
      total: 801_000, kernel: tcp(sent: 800, received: 500, segments: 1), elapsed: 1_301_000
    ) { $0.isHeldByApp = true },
    Case(
      "a redirect of an upload that the app refused late", [.local: 500_050], upload: 200,
      kernel: tcp(sent: 800, received: 500, segments: 1), elapsed: 801_000, isFree: true
    ) { $0.isHeldByApp = true },
    Case(
      "a redirect that the app never answered", [.processing: 299_950, .transfer: 1_000, .local: 500_050],
      firstByte: 300_000, cutOff: .transfer, elapsed: 801_000, end: .cancelled
    ) { $0.isHeldByApp = true },
  ]

  static let unread: [Case] = [
    Case(
      "a response in one piece that lay unread", [.processing: 212_950, .transfer: 0, .local: 88_150],
      firstByte: 213_100, kernel: tcp(sent: 300, received: 88, segments: 1)),
    Case(
      "the last of a long response lay unread", [.processing: 299_950, .transfer: 412_950, .local: 88_150],
      total: 800_950, kernel: tcp(sent: 800, received: 88, segments: 90)),
    Case(
      "all of a response in pieces lay unread", [.processing: 212_950, .transfer: 0, .local: 88_150],
      firstByte: 213_100, kernel: tcp(sent: 300, received: 88, segments: 3)),
    Case(
      "less than the kernel's clock can tell", [.processing: 299_950, .transfer: 1_000, .local: 150],
      kernel: tcp(sent: 300, received: 8, segments: 1)),
    Case(
      "nothing of a response that was cut", [.processing: 299_950, .transfer: 1_000, .local: 150],
      cutOff: .transfer, kernel: tcp(sent: 300, received: 88, segments: 1), end: .failed),
    Case(
      "the end was that of the connection", [.processing: 299_950, .transfer: 501_000, .local: 150],
      total: 801_000, kernel: tcp(sent: 800, received: 400, segments: 1)
    ) { $0.connection?.info.state = 8 },
    Case(
      "by HTTP/2 others receive on the socket", [.processing: 299_950, .transfer: 1_000, .local: 150],
      kernel: tcp(sent: 300, received: 88, segments: 1), version: .http2),
  ]

  /// libcurl has noted late that it has sent the request.
  static let late: [Case] = [
    Case(
      "by what the kernel can tell", [.processing: 290_000, .transfer: 1_000, .local: 10_100],
      kernel: tcp(sent: 291, segments: 2)
    ) { ($0.preTransfer, $0.nameLookup) = (60_000, 20) },
    Case(
      "by less than the kernel can tell", [.processing: 292_000, .transfer: 1_000, .local: 8_100],
      kernel: tcp(sent: 300, segments: 2)
    ) { $0.preTransfer = 8_000 },
    Case(
      "by no more than was idle before", [.processing: 300_000, .transfer: 1_000, .local: 100],
      kernel: tcp(sent: 400, segments: 2)
    ) { $0.preTransfer = 60_000 },
    Case(
      "by no more than since its turn", [.processing: 300_000, .transfer: 1_000, .local: 5_100],
      firstByte: 305_100, total: 306_000, kernel: tcp(sent: 400, segments: 2), isFree: true
    ) { $0.queue = 5_000 },
    Case(
      "and by HTTP/2 the kernel's time is another's",
      [.processing: 240_000, .transfer: 1_000, .local: 60_100], kernel: tcp(sent: 291), version: .http2
    ) { $0.preTransfer = 60_000 },
    Case(
      "and was sent twice: the first time was no later than what the kernel tells",
      [.processing: 290_000, .transfer: 1_000, .local: 10_100], kernel: tcp(sent: 291, retransmitted: 1)
    ) { $0.preTransfer = 60_000 },
    Case(
      "by less than a round trip", [.processing: 40_000, .transfer: 5_000, .local: 1_100], firstByte: 41_100,
      total: 46_000, kernel: tcp(sent: 46, segments: 2)
    ) {
      ($0.preTransfer, $0.startTransfer) = (2_000, 41_000)
      $0.connection?.info.roundTrip = 40_000_000
    },
  ]

  static let uploads: [Case] = [
    Case(
      "a short one", [.processing: 300_950, .transfer: 0, .local: 150], firstByte: 301_100, upload: 200,
      kernel: tcp(sent: 296, segments: 1)),
    Case(
      "the first of a process, whose kernel's clock has not been seen to move",
      [.processing: 4_950, .transfer: 0, .local: 150], firstByte: 5_100, upload: 200, total: 5_000,
      kernel: tcp(sent: 0, segments: 1)
    ) {
      $0.startTransfer = 4_000
      $0.connection?.info.sinceDataSent = nil
    },
    Case(
      "the same for longer than that clock can tell", [.local: 150], upload: 200,
      total: 50_000, kernel: tcp(sent: 0, segments: 1)
    ) {
      $0.startTransfer = 4_000
      $0.connection?.info.sinceDataSent = nil
    },
    Case(
      "a long one", [.upload: 500_950, .processing: 300_000, .transfer: 0, .local: 150], firstByte: 801_100,
      upload: 9_000_000, total: 801_000, kernel: tcp(sent: 300, segments: 1), isFree: true),
    Case(
      "one whose wait is unknown", [.processing: 300_000, .transfer: 0, .local: 150], firstByte: 801_100,
      upload: 9_000_000, total: 801_000, kernel: tcp(sent: 300, segments: 1)),
    Case(
      "one whose response lay unread, by ticks for longer than there was",
      [.processing: 0, .transfer: 0, .local: 301_100], firstByte: 150, upload: 200,
      kernel: tcp(sent: 304, received: 304, segments: 1)),
    Case(
      "one whose response came in pieces", [.upload: 500_950, .response: 300_000, .local: 150],
      upload: 9_000_000, total: 801_000, kernel: tcp(sent: 300, segments: 2), isFree: true),
    Case(
      "one whose response came in pieces, and its head to a delegate",
      [.upload: 500_950, .processing: 200_000, .transfer: 100_000, .local: 150], firstByte: 701_100,
      upload: 9_000_000, total: 801_000, kernel: tcp(sent: 300, segments: 2), isFree: true
    ) { $0.relay.head = 701_100 },
    Case(
      "one whose head came at its end, as far as the kernel's clock can tell",
      [.upload: 500_950, .processing: 0, .transfer: 300_000, .local: 150], firstByte: 501_100,
      upload: 9_000_000, total: 801_000, kernel: tcp(sent: 300, segments: 2), isFree: true
    ) { $0.relay.head = 496_100 },
    Case(
      "one whose response had come before the last reading",
      [.upload: 500_950, .response: 300_000, .local: 150], upload: 9_000_000, total: 801_000,
      kernel: tcp(sent: 300, segments: 0), isFree: true),
    Case(
      "one whose head had come before its end", [.upload: 500_950, .response: 300_000, .local: 150],
      upload: 9_000_000, total: 801_000, kernel: tcp(sent: 300, segments: 2), isFree: true
    ) { $0.relay.head = 401_100 },
    Case(
      "one that was cut in its response", [.processing: 250_950, .transfer: 50_000, .local: 150],
      firstByte: 251_100,
      cutOff: .transfer, upload: 200, kernel: tcp(sent: 300), end: .failed
    ) { ($0.bodySize, $0.relay.head) = (200, 251_100) },
    Case(
      "one that was cut in its response, and nobody got the head", [.response: 300_950, .local: 150],
      cutOff: .response, upload: 200, kernel: tcp(sent: 300, segments: 1), end: .failed
    ) { $0.bodySize = 200 },
    Case(
      "one that was answered and cut before its end", [.local: 150], upload: 2_000_000,
      kernel: tcp(sent: 0), isFree: true, end: .failed
    ) { $0.bodySize = 9_000_000 },
    Case(
      "one whose response the close ends", [.processing: 240_950, .transfer: 60_000, .local: 150],
      firstByte: 241_100,
      upload: 200, kernel: tcp(sent: 300, received: 60, segments: 1)
    ) { $0.connection?.info.state = 8 },
    Case("one by HTTP/2", [.local: 150], upload: 200, kernel: tcp(sent: 300, segments: 1), version: .http2),
    Case("one that nothing is known of", [.local: 150], upload: 200),
    Case(
      "one of which all may have been sent again", [.local: 150], upload: 65_536,
      total: 801_000, kernel: tcp(sent: 300, segments: 1, retransmitted: 1), isFree: true),
    Case(
      "a long one, partly sent again", [.upload: 500_950, .processing: 300_000, .transfer: 0, .local: 150],
      firstByte: 801_100, upload: 65_537, total: 801_000,
      kernel: tcp(sent: 300, segments: 1, retransmitted: 1), isFree: true),
    Case(
      "one on a connection of which nothing was read before",
      [.upload: 500_950, .response: 300_000, .local: 150], upload: 9_000_000, total: 801_000,
      kernel: tcp(sent: 300, segments: 1, knowsPrevious: false), isFree: true),
    Case(
      "a short one that was sent again", [.processing: 300_950, .transfer: 0, .local: 150],
      firstByte: 301_100, upload: 200, kernel: tcp(sent: 296, segments: 1, retransmitted: 1)),
    Case(
      "one whose response lay unread", [.processing: 212_950, .transfer: 0, .local: 88_150],
      firstByte: 213_100, upload: 200, kernel: tcp(sent: 300, received: 88, segments: 1)),
    Case(
      "one that was answered before its end", [.upload: 276_950, .response: 0, .local: 24_150],
      upload: 9_000_000, kernel: tcp(sent: 24, received: 88, segments: 1), isFree: true),
    Case(
      "one that got stuck", [.upload: 1_999_950, .local: 150], cutOff: .upload, upload: 2_000_000,
      total: 2_000_000, kernel: tcp(sent: 1_600), isFree: true, isAnswered: false, end: .failed
    ) { $0.bodySize = 9_000_000 },
    Case(
      "one that got stuck in the kernel", [.upload: 1_999_950, .local: 150], cutOff: .upload, upload: 60_000,
      total: 2_000_000, kernel: tcp(sent: 1_600), isFree: true, isAnswered: false, end: .failed
    ) {
      $0.bodySize = 60_000
      $0.connection?.info.unsentBytes = 1
    },
    Case(
      "one that got stuck, or another one by HTTP/2", [.local: 150], upload: 60_000, total: 2_000_000,
      kernel: tcp(sent: 1_600), isFree: true, isSecure: true, isAnswered: false, end: .failed
    ) {
      $0.bodySize = 60_000
      $0.connection?.info.unsentBytes = 1
    },
    Case(
      "one that was not answered, over TLS", [.local: 150], cutOff: .processing, upload: 200,
      total: 2_000_000, kernel: tcp(sent: 0), isSecure: true, isAnswered: false, end: .failed
    ) { $0.bodySize = 200 },
    Case(
      "one that was not answered, and no kernel", [.local: 150], upload: 200, total: 2_000_000,
      isSecure: true, isAnswered: false, end: .failed
    ) { $0.bodySize = 200 },
    Case(
      "one that was not answered", [.upload: 399_950, .processing: 1_600_000, .local: 150],
      cutOff: .processing, upload: 9_000_000, total: 2_000_000, kernel: tcp(sent: 1_600), isFree: true,
      isAnswered: false, end: .failed
    ) { $0.bodySize = 9_000_000 },
  ]

  /// As libcurl says it from 8.10 on.
  static let uploadsOfNewerLibcurl: [Case] = [
    Case("a short one by HTTP/2", [.processing: 299_950, .transfer: 1_000, .local: 150], version: .http2) {
      ($0.sentBytes, $0.postTransfer, $0.queue) = (200, 90, 0)
    },
    Case(
      "a long one by HTTP/2", [.upload: 200_000, .processing: 99_950, .transfer: 1_000, .local: 150],
      version: .http2
    ) { ($0.sentBytes, $0.postTransfer, $0.queue) = (9_000_000, 200_050, 0) },
    Case(
      "one the kernel knows better", [.upload: 205_000, .processing: 95_000, .transfer: 950, .local: 150],
      firstByte: 300_150, kernel: tcp(sent: 95, segments: 2)
    ) {
      ($0.sentBytes, $0.postTransfer, $0.queue, $0.startTransfer) = (9_000_000, 100_050, 0, 300_050)
      $0.connection?.info.sinceDataSent = 95_950_000
    },
    Case(
      "one that was answered at its end, as far as the kernel's clock can tell",
      [.upload: 205_000, .processing: 0, .transfer: 95_950, .local: 150], firstByte: 205_150,
      kernel: tcp(sent: 95, segments: 2)
    ) {
      ($0.sentBytes, $0.postTransfer, $0.queue, $0.startTransfer) = (9_000_000, 100_050, 0, 200_050)
      $0.connection?.info.sinceDataSent = 95_950_000
    },
    Case(
      "one with an interim response while the kernel sent it",
      [.upload: 205_000, .response: 95_950, .local: 150], kernel: tcp(sent: 95, segments: 2)
    ) {
      ($0.sentBytes, $0.postTransfer, $0.queue, $0.startTransfer) = (9_000_000, 100_050, 0, 150_050)
      $0.connection?.info.sinceDataSent = 95_950_000
    },
    Case("one that was answered before libcurl had sent it", [.local: 150]) {
      ($0.sentBytes, $0.postTransfer, $0.queue) = (9_000, 0, 0)
    },
    Case(
      "one after a wait, by a libcurl that counts from the begin",
      [.queue: 500_000, .upload: 200_000, .processing: 99_950, .transfer: 1_000, .local: 150],
      firstByte: 800_100, total: 801_000
    ) {
      ($0.queue, $0.nameLookup, $0.preTransfer, $0.startTransfer) = (500_000, 500_001, 500_050, 800_000)
      ($0.sentBytes, $0.postTransfer) = (9_000_000, 700_050)
      $0.countFromTurn()
    },
    Case("one with an interim response", [.upload: 199_950, .response: 101_000, .local: 150]) {
      ($0.sentBytes, $0.postTransfer, $0.queue, $0.startTransfer) = (9_000_000, 200_000, 0, 400)
    },
    Case(
      "one with an interim response, and the head to a delegate",
      [.upload: 199_950, .processing: 50_000, .transfer: 51_000, .local: 150], firstByte: 250_100
    ) {
      ($0.sentBytes, $0.postTransfer, $0.queue, $0.startTransfer) = (9_000_000, 200_000, 0, 400)
      $0.relay.head = 250_100
    },
    Case("one with an interim response just before its end", [.response: 300_950, .local: 150]) {
      ($0.sentBytes, $0.postTransfer, $0.queue, $0.startTransfer) = (200, 90, 0, 80)
    },
    Case(
      "the same by HTTP/2, where a segment may be another's", [.response: 300_950, .local: 150],
      kernel: tcp(sent: 0, segments: 1), version: .http2
    ) {
      ($0.sentBytes, $0.postTransfer, $0.queue, $0.startTransfer) = (200, 90, 0, 80)
    },
    Case("one with a late answer", [.processing: 300_950, .local: 150], cutOff: .processing, end: .failed) {
      ($0.sentBytes, $0.postTransfer, $0.queue, $0.bodySize) = (200, 90, 0, 200)
      ($0.statusCode, $0.startTransfer) = (0, 0)
    },
  ]

  /// The server has closed the connection under the first attempt.
  static let resends: [Case] = [
    Case(
      "on a new connection",
      [.resolve: 60, .connect: 440, .processing: 299_500, .transfer: 1_000, .local: 100], firstByte: 320_100
    ) {
      ($0.resend, $0.total, $0.connectionCount, $0.nameLookup) = (20_000, 321_000, 1, 60)
      ($0.connect, $0.preTransfer) = (500, 610)
    },
    Case(
      "on another that was open", [.processing: 300_000, .transfer: 1_000, .local: 100], firstByte: 320_100
    ) { ($0.resend, $0.total) = (20_000, 321_000) },
    Case(
      "after an attempt that took its time",
      [.resolve: 500, .connect: 0, .processing: 4_500, .transfer: 1_000, .local: 100], firstByte: 25_100
    ) {
      ($0.resend, $0.total, $0.connectionCount, $0.nameLookup) = (20_000, 26_000, 1, 15_000)
      ($0.connect, $0.preTransfer, $0.startTransfer) = (500, 15_600, 5_000)
    },
    Case(
      "after an attempt that took its time, and an unknown wait",
      [.resolve: 500, .connect: 0, .processing: 4_500, .local: 100]
    ) {
      ($0.resend, $0.total, $0.connectionCount, $0.nameLookup) = (20_000, 60_000, 1, 35_000)
      ($0.connect, $0.preTransfer, $0.startTransfer) = (500, 35_600, 5_000)
    },
    Case(
      "over TLS",
      [.resolve: 60, .connect: 440, .tls: 1_000, .processing: 298_500, .transfer: 1_000, .local: 100],
      firstByte: 320_100, isSecure: true
    ) {
      ($0.resend, $0.total, $0.connectionCount, $0.nameLookup) = (20_000, 321_000, 1, 60)
      ($0.connect, $0.appConnect, $0.preTransfer) = (500, 1_500, 1_610)
    },
    Case(
      "by a libcurl that tells the wait",
      [.queue: 500_000, .resolve: 60, .connect: 440, .processing: 299_500, .transfer: 1_000, .local: 100],
      firstByte: 820_100
    ) {
      ($0.resend, $0.total, $0.connectionCount, $0.nameLookup) = (520_000, 821_000, 1, 60)
      ($0.connect, $0.preTransfer, $0.queue) = (500, 500_610, 500_000)
      $0.countFromTurn()
    },
    Case(
      "by a libcurl that takes the first attempt for a wait",
      [.resolve: 60, .connect: 440, .processing: 299_500, .transfer: 1_000, .local: 100], firstByte: 320_100
    ) {
      ($0.resend, $0.total, $0.connectionCount, $0.nameLookup) = (20_000, 321_000, 1, 60)
      ($0.connect, $0.preTransfer, $0.queue) = (500, 610, 20_010)
      $0.countFromTurn()
    },
    Case(
      "with a body", [.resolve: 60, .connect: 440, .processing: 300_500, .transfer: 0, .local: 100],
      firstByte: 321_100, kernel: tcp(sent: 300, segments: 1)
    ) {
      ($0.resend, $0.total, $0.connectionCount, $0.nameLookup) = (20_000, 321_000, 1, 60)
      ($0.connect, $0.preTransfer, $0.sentBytes, $0.startTransfer) = (500, 610, 200, 620)
      $0.postTransfer = 700
    },
    Case(
      "with a body whose response came in pieces",
      [.resolve: 60, .connect: 440, .response: 300_500, .local: 100], kernel: tcp(sent: 300, segments: 2)
    ) {
      ($0.resend, $0.total, $0.connectionCount, $0.nameLookup) = (20_000, 321_000, 1, 60)
      ($0.connect, $0.preTransfer, $0.sentBytes, $0.postTransfer) = (500, 610, 200, 700)
    },
    Case(
      "with a body, and no kernel", [.resolve: 60, .connect: 440, .local: 100], isFree: true
    ) {
      ($0.resend, $0.total, $0.connectionCount, $0.nameLookup) = (20_000, 321_000, 1, 60)
      ($0.connect, $0.preTransfer, $0.sentBytes, $0.postTransfer) = (500, 610, 200, 700)
    },
    Case("to a server that is gone", [.local: 100], isAnswered: false, end: .failed) {
      ($0.resend, $0.total, $0.startTransfer) = (20_000, 20_300, 0)
    },
    Case(
      "to a server that does not answer either",
      [.resolve: 60, .connect: 440, .processing: 300_500, .local: 100], cutOff: .processing, isFree: true,
      isAnswered: false, end: .failed
    ) {
      ($0.resend, $0.total, $0.connectionCount, $0.nameLookup) = (20_000, 321_000, 1, 60)
      ($0.connect, $0.preTransfer, $0.startTransfer) = (500, 610, 0)
    },
    Case("by HTTP/2", [.local: 100], version: .http2) {
      ($0.resend, $0.total, $0.connectionCount) = (20_000, 321_000, 2)
    },
  ]

  @Test(arguments: waits + ends + unread + late + uploads + uploadsOfNewerLibcurl + resends)
  func `phases follow from what is known`(example: Case) {
    var transfer = example.transfer
    transfer.findPhases()
    var found: [RequestTimings.Phase: Int64] = [:]
    for phase in RequestTimings.Phase.allCases {
      if let nanoseconds = transfer.timings[nanoseconds: phase] { found[phase] = nanoseconds / 1_000 }
    }
    #expect(found == example.phases)
    #expect(transfer.firstByte.map { $0 / 1_000 } == example.firstByte)
    #expect(example.cutOff == (transfer.end == .complete ? nil : transfer.last))
    #expect(found.values.reduce(0, +) <= transfer.elapsed / 1_000)
  }

  /// Numbers that are not in any unit: libcurl's, and what they are from the turn on.
  private static let counted: [(TransferInfo, TransferInfo)] = {
    func info(
      queue: Int64?, look: Int64 = 0, connect: Int64 = 0, tls: Int64 = 0, ready: Int64 = 0,
      sent: Int64? = nil, first: Int64 = 0, resend: Int64 = 0
    ) -> TransferInfo {
      var info = TransferInfo()
      (info.queue, info.nameLookup, info.connect, info.appConnect) = (queue, look, connect, tls)
      (info.preTransfer, info.postTransfer, info.startTransfer) = (ready, sent, first)
      info.resend = resend
      return info
    }
    let (none, nothing) = (info(queue: nil, look: 15, ready: 65), info(queue: 9))
    return [
      (
        info(queue: 10, look: 15, connect: 30, tls: 60, ready: 65, sent: 80, first: 100),
        info(queue: 10, look: 5, connect: 20, tls: 50, ready: 55, sent: 70, first: 90)
      ),
      // Cut in the connection.
      (info(queue: 10, look: 15), info(queue: 10, look: 5)),
      // On a connection that was open, without a look-up.
      (info(queue: 10, ready: 15, first: 20), info(queue: 10, ready: 5, first: 10)),
      // The wait twice.
      (info(queue: 90, look: 50, ready: 60, first: 70), info(queue: 49, look: 1, ready: 11, first: 21)),
      (none, none), (nothing, nothing),
      // Of a second attempt.
      (
        info(queue: 30, connect: 5, tls: 15, ready: 25, resend: 20),
        info(queue: 10, connect: 5, tls: 15, ready: 25, resend: 20)
      ),
      (info(queue: 7, connect: 5, ready: 25, resend: 9), info(queue: 7, connect: 5, ready: 25, resend: 9)),
      (info(queue: 7, connect: 5, ready: 3, resend: 9), info(queue: 0, connect: 5, ready: 3, resend: 9)),
    ]
  }()

  @Test func `times are counted from the turn`() {
    for (said, expected) in Self.counted { #expect(with(said) { $0.countFromTurn() } == expected) }
  }

  @Test func `what an older kernel does not fill is absent`() throws {
    var bytes = [UInt8](repeating: 0, count: 160)
    func set(_ value: UInt32, at offset: Int) {
      withUnsafeBytes(of: value) { source in bytes.replaceSubrange(offset..<offset + 4, with: source) }
    }
    bytes[0] = 8
    set(300, at: 44)
    set(12, at: 52)
    set(3, at: 100)
    set(900, at: 128)
    set(70, at: 144)
    set(40_700, at: 148)
    set(8, at: 152)
    func info(_ count: Int) -> TCPInfo? {
      bytes.withUnsafeBytes { TCPInfo(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
    }
    var expected = TCPInfo()
    (expected.state, expected.retransmittedSegments, expected.receivedSegments) = (8, 3, nil)
    (expected.sinceDataSent, expected.sinceDataReceived) = (300_000_000, 12_000_000)
    #expect(info(104) == expected && info(135) == expected && info(103) == nil)
    expected.receivedBytes = 900
    #expect(info(136) == expected && info(147) == expected)
    expected.unsentBytes = 70
    #expect(info(148) == expected && info(151) == expected)
    expected.roundTrip = 40_700_000
    #expect(info(152) == expected && info(155) == expected)
    expected.receivedSegments = 8
    #expect(info(156) == expected && info(160) == expected)
    #expect(!expected.isEstablished && TCPInfo().isEstablished)
    // As long as none is measured, and where none ever is.
    for none in [UInt32.max, 0] {
      set(none, at: 148)
      #expect(bytes.withUnsafeBytes { TCPInfo($0) }?.roundTrip == nil)
    }
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
    // The least limit is that of all.
    let several = TransferCount()
    several.enter(limit: 1, at: instants[0])
    several.enter(limit: 2, at: instants[0])
    #expect(!several.leave(at: instants[1], since: instants[0]))
    // 0 is no limit, nor is less.
    let unlimited = TransferCount()
    for limit in [0, -1] { unlimited.enter(limit: limit, at: instants[0]) }
    #expect(unlimited.leave(at: instants[1], since: instants[0]))
  }
}

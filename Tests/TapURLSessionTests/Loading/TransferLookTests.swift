import TestSupport

@testable import TapURLSession

/// What follows from one look at a transfer, and from two, case by case.
struct TransferLookTests {
  /// What libcurl said of transfers that were held at some point: 7.88 first, then 8.23. The facts are those
  /// of ``TransferPhasesTests``; `connection` is its number, `size` that of the body, `unsent` the kernel's.
  private static let waits = """
    7.88, all connections are taken
      bare -> queue
    7.88, a look-up without an answer
      bare total=335 -> resolve
    7.88, SYN without an answer
      bare look=0.03 total=335 -> connect
    7.88, a client hello without an answer
      bare https opened=1 look=0.03 total=334 -> tls
    7.88, a proxy that does not answer CONNECT
      bare https opened=1 look=0.03 total=335 tunnel -> connect
    7.88, a client hello in a tunnel
      bare https opened=1 look=0.07 total=1274 tunnelOpen -> tls
    7.88, a body that nobody reads
      bare opened=1 look=0.03 connect=8.4 ready=8.44 total=846 up=2883584 size=50000000 -> upload
    8.23, all connections are taken
      bare queue=0.007 connection=-1 -> queue
    8.23, a look-up without an answer
      bare queue=0.014 connection=0 -> resolve
    a plain connection that is being handed over
      bare opened=1 look=0.03 -> connect
    a head without a body
      unanswered -> response
    a body that has gone
      unanswered up=9 size=9 -> response
    a body that the kernel has
      unanswered up=9 size=9 unsent=1 -> upload
    a body whose last part libcurl has
      unanswered up=8 size=9 unsent=0 -> upload
    a stream that may go on
      unanswered up=9 stream -> none
    a stream that the kernel has
      unanswered up=9 stream unsent=1 -> upload
    a stream whose end libcurl has handed over, from 8.10 on
      unanswered up=9 stream sent=0.1 -> response
    an interim response that asks for the body
      status=100 up=8 size=9 -> upload
    an answer before the end of the body
      up=8 size=9 -> body
    an answer
      -> body
    the last leg, which has no body
      unanswered redirects=1 size=9 -> response
    a second attempt, of whose connection nothing is told
      unanswered resend=20 -> none
    a second attempt on a new connection
      unanswered resend=20 opened=1 -> response
    """

  private typealias Example = TransferPhasesTests.Example

  @Test func `what a transfer waits for is what its times have not come to`() throws {
    let found = try Example.all(in: Self.waits).map { example in
      func number(_ name: String) -> Int64? {
        example.facts.first { $0.hasPrefix("\(name)=") }.flatMap { Int64($0.dropFirst(name.count + 1)) }
      }
      let own = ["connection", "size", "unsent", "stream"]
      let others = example.facts.filter { fact in !own.contains { fact.hasPrefix($0) } }
      let transfer = try Example.transfer(others)
      let isStream = example.facts.contains("stream")
      let wait = transfer.wait(
        CurlActivity(connectionID: number("connection")), bodySize: isStream ? nil : number("size") ?? 0,
        unsent: number("unsent").map { UInt32($0) })
      return "\(example.name): \(wait?.rawValue ?? "none")"
    }
    let expected = Example.all(in: Self.waits).map { "\($0.name): \($0.expected)" }
    #expect(found.joined(separator: "\n") == expected.joined(separator: "\n"))
  }

  private static func instant(_ milliseconds: Int64) -> Instant {
    Instant(nanoseconds: milliseconds * 1_000_000)
  }

  @Test func `nothing has passed since the kernel or two looks have seen it`() {
    /// When something last passed by the last of some looks, or `since` when nothing did at the least. A look
    /// is its instant in milliseconds, what had passed until then, and by the kernel when.
    func quiet(_ looks: [(at: Int64, passed: Int64, kernel: Int64?)]) -> String {
      var last: TransferLook?
      for (at, passed, kernel) in looks {
        var look = TransferLook(at: Self.instant(at), found: RequestProgress())
        look.passed.receivedBytes = passed
        look.noteActivity(kernel: kernel.map(Self.instant), after: last)
        last = look
      }
      if let activity = last?.found.lastActivity { return "\(activity.nanoseconds / 1_000_000)" }
      return last?.found.quietSince.map { "since \($0.nanoseconds / 1_000_000)" } ?? "unknown"
    }
    let rows: [([(Int64, Int64, Int64?)], String)] = [
      // An estimate is none.
      ([(1_000, 5, nil)], "unknown"), ([(1_000, 5, 700)], "700"),
      ([(1_000, 5, nil), (2_000, 5, nil), (60_000, 5, nil)], "since 1000"),
      ([(1_000, 5, nil), (2_000, 6, nil)], "2000"),
      ([(1_000, 5, nil), (2_000, 6, nil), (9_000, 6, nil)], "2000"),
      // Of what passed a minute before or just now.
      ([(1_000, 5, nil), (3_001, 6, nil)], "unknown"),
      ([(1_000, 5, nil), (3_001, 6, nil), (4_000, 6, nil)], "since 3001"),
      ([(1_000, 5, 700), (60_000, 5, nil)], "700"), ([(1_000, 5, 700), (60_000, 6, 59_000)], "59000"),
    ]
    expectEqual(rows.map { quiet($0.0) }, rows.map(\.1))
  }

  @Test func `the kernel knows when data passed on a connection of one transfer`() {
    let transfer = with(TransferInfo()) {
      ($0.protocolVersion, $0.elapsed, $0.total) = (.http11, 9_000_000_000, 9_000_000_000)
    }
    func lastActivity(
      sent: Int64?, received: Int64, _ transfer: TransferInfo, resent: Int = 0
    ) -> Int64? {
      let info = with(TCPInfo()) {
        ($0.sinceDataSent, $0.sinceDataReceived) = (sent.map { $0 * 1_000_000 }, received * 1_000_000)
        $0.retransmittedSegments = resent
      }
      return info.lastActivity(of: transfer, at: Self.instant(10_000)).map { $0.nanoseconds / 1_000_000 }
    }
    let http2 = with(transfer) { $0.protocolVersion = .http2 }
    let (plain, tls) = (
      with(transfer) { $0.protocolVersion = nil },
      with(transfer) { ($0.protocolVersion, $0.relay.isSecure) = (nil, true) }
    )
    let found = [
      lastActivity(sent: 300, received: 4_000, transfer), lastActivity(sent: 4_000, received: 300, transfer),
      lastActivity(sent: 300, received: 4_000, plain),
      // Others use it too, or may do.
      lastActivity(sent: 300, received: 4_000, http2), lastActivity(sent: 300, received: 4_000, tls),
      // What is sent again and again does not arrive.
      lastActivity(sent: 300, received: 4_000, transfer, resent: 1),
      lastActivity(sent: 4_000, received: 300, transfer, resent: 1),
      // A sandbox that does not know, and a time before the request.
      lastActivity(sent: nil, received: 0, transfer), lastActivity(sent: 9_201, received: 9_201, transfer),
      // The request was sent at once: the kernel's tick may be another one than that of the begin.
      lastActivity(sent: 9_004, received: 9_004, transfer),
    ]
    #expect(found == [9_700, 9_700, 9_700, nil, nil, nil, 9_700, nil, nil, 1_000])
  }

  /// In a process of its own, whose kernel's clock has not been seen to move.
  @Test(.needs(.program)) func `a clock that stands still says nothing`() async {
    await #expect(processExitsWith: .success) {
      let transfer = with(TransferInfo()) { $0.protocolVersion = .http11 }
      let known = [0, 1, 0].map { since in
        with(TCPInfo()) { $0.sinceDataSent = since }.lastActivity(of: transfer, at: Self.instant(9)) != nil
      }
      #expect(known == [false, true, true])
    }
  }
}

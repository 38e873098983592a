import TestSupport

@testable import TapURLSession

/// The rules by which phases follow from libcurl's info, the kernel's and the tap's clock, case by case.
///
/// A case is a name, what is known of the transfer, and after the arrow what follows: its phases, the first
/// byte from the start where it is not at 300.1 ms or absent without a `transfer`, and the phase in which an
/// incomplete one was cut off. Times are in milliseconds. Unless a case says otherwise, it is a GET by
/// HTTP/1.1 on a connection that was open, with 300 ms of the server's and 0.1 ms around libcurl.
struct TransferPhasesTests {
  private static let waits = """
    libcurl says the wait, and there was no name to look up
      total=801 queue=500 look=0 -> queue=500 processing=299.95 transfer=1 local=0.15 firstByte=800.1
    libcurl counts one twice
      total=801 queue=900 -> processing=299.95 local=0.15
    a wait of a millisecond
      total=302 queue=1 -> queue=1 processing=299.95 transfer=1 local=0.15 firstByte=301.1
    no connection was waited for
      total=306 queue=5 free -> processing=299.95 transfer=1 local=5.15 firstByte=305.1
    the kernel says it
      total=801 sinceSent=300 -> queue=500.95 processing=299.95 transfer=0.05 local=0.15 firstByte=801.05
    the kernel says it, of a request that took its time to begin
      total=861 ready=60 first=360 sinceSent=300
        -> queue=501 processing=300 transfer=0 local=60.1 firstByte=861.1
    the kernel says it by HTTP/1.0, of a connection on which something was sent again before
      total=801 http1.0 sinceSent=300 resent=1 resentBefore=1
        -> queue=500.95 processing=299.95 transfer=0.05 local=0.15 firstByte=801.05
    by HTTP/2 others send on the socket
      total=801 http2 sinceSent=300 -> processing=299.95 local=0.15
    the request may have been sent again
      total=801 sinceSent=300 resent=1 -> processing=299.95 local=0.15
    something was sent after the request
      total=801 sinceSent=0 -> processing=299.95 local=0.15
    the end of TLS sends an alert
      total=801 https sinceSent=300 closing -> processing=299.95 local=0.15
    TLS that the server has ended
      total=801 https sinceSent=300 closed -> processing=299.95 local=0.15
    a failure over TLS sends an alert
      total=801 https failed sinceSent=300 restart=0.001 -> processing=299.95 cut=transfer
    a delegate had the head before any wait
      total=801 elapsed=801.1 head=300.6 -> processing=299.95 transfer=501 local=0.15
    a head that comes late says nothing
      total=801 elapsed=801.1 head=600 -> processing=299.95 local=0.15
    """

  private static let ends = """
    a first request has all phases
      https opened=1 look=0.1 connect=0.5 tls=2 ready=2.1
        -> resolve=0.1 connect=0.4 tls=1.5 processing=297.9 transfer=1 local=0.2
    a name that is not found
      bare total=127.905 failed free -> resolve=127.905 local=0.1 cut=resolve
    a name, or a wait
      bare total=127.905 failed -> local=0.1
    a name, or a wait of which libcurl has said little
      bare total=127.905 queue=0.009 failed -> local=0.1
    a name, and no wait, of which libcurl has said little
      bare total=127.905 queue=0.009 failed free -> resolve=127.896 local=0.109 cut=resolve
    a connection that is refused after a long look-up
      bare look=500 total=505 failed -> resolve=500 connect=5 local=0.1 cut=connect
    a connection that is refused
      bare look=0.02 total=0.13 failed -> resolve=0.02 connect=0.11 local=0.1 cut=connect
    a handshake without an end
      bare https opened=1 look=0.02 total=0.13 failed -> resolve=0.02 tls=0.11 local=0.1 cut=tls
    a connection through a tunnel, whose end nobody tells
      https opened=1 look=0.1 connect=0.5 tls=402 ready=402.1 total=701 first=700 tunnelOpen
        -> resolve=0.1 connect=401.9 processing=297.9 transfer=1 local=0.2 firstByte=700.1
    a proxy that refuses the tunnel
      bare https opened=1 look=0.02 total=400 failed free tunnel -> resolve=0.02 connect=399.98 local=0.1 cut=connect
    a handshake without an end in a tunnel
      bare https opened=1 look=0.02 total=400 failed free tunnelOpen
        -> resolve=0.02 connect=399.98 local=0.1 cut=tls
    a silent server
      total=2000 unanswered failed sinceSent=2000 first=0 -> processing=1999.95 local=0.15 cut=processing
    a cancel after a wait
      total=0.076 elapsed=450 unanswered cancelled sinceSent=200 first=0
        -> queue=249.95 processing=200 cut=processing
    a cancel after a redirect
      elapsed=900 cancelled redirects=1 -> processing=299.95 cut=transfer
    the last leg of a redirect
      elapsed=899.999 redirects=1 -> processing=299.95 transfer=1 firstByte=898.999
    a cancel after a suspension
      up=9000000 total=0.076 elapsed=800 free unanswered cancelled sinceSent=200 restart=500 body=9000000
        -> upload=99.95 processing=200 cut=processing
    a cancel of a redirected upload
      up=200 elapsed=900 unanswered cancelled sinceSent=500 redirects=1 body=200
        -> processing=500 cut=processing
    a time that is longer than the request
      opened=1 connect=10000 -> resolve=0.02 local=0.1
    a cancel whose total is longer than the request
      elapsed=300.9 cancelled -> processing=299.95 firstByte=299.9 cut=transfer
    a connection that the server closed without a byte
      unanswered failed sinceSent=300 segments=0 -> processing=300.95 local=0.15 cut=processing
    the same for a body
      up=200 unanswered failed sinceSent=300 segments=0 body=200
        -> processing=300.95 local=0.15 cut=processing
    a redirect that the app refused late
      elapsed=801 sinceSent=800 sinceReceived=500 segments=1 refused
        -> processing=299.95 transfer=1 local=500.05 firstByte=300
    a redirect that the app refused late, after a wait
      total=801 elapsed=1301 sinceSent=800 sinceReceived=500 segments=1 refused
        -> processing=299.95 local=500.05
    a redirect of an upload that the app refused late
      up=200 elapsed=801 free sinceSent=800 sinceReceived=500 segments=1 refused -> local=500.05
    a redirect that the app never answered
      elapsed=801 cancelled refused -> processing=299.95 transfer=1 local=500.05 firstByte=300 cut=transfer
    """

  private static let unread = """
    a response in one piece that lay unread
      sinceSent=300 sinceReceived=88 segments=1 -> processing=212.95 transfer=0 local=88.15 firstByte=213.1
    less than the kernel's clock can tell
      sinceSent=300 sinceReceived=8 segments=1 -> processing=299.95 transfer=1 local=0.15
    nothing of a response that was cut
      failed sinceSent=300 sinceReceived=88 segments=1 -> processing=299.95 transfer=1 local=0.15 cut=transfer
    the end was that of the connection
      total=801 sinceSent=800 sinceReceived=400 segments=1 closed -> processing=299.95 transfer=501 local=0.15
    by HTTP/2 others receive on the socket
      http2 sinceSent=300 sinceReceived=88 segments=1 -> processing=299.95 transfer=1 local=0.15
    """

  /// libcurl has noted late that it has sent the request.
  private static let late = """
    by what the kernel can tell
      sinceSent=291 segments=2 ready=60 look=0.02 -> processing=290 transfer=1 local=10.1
    by no more than since its turn
      total=306 free sinceSent=400 segments=2 queue=5 -> processing=300 transfer=1 local=5.1 firstByte=305.1
    and by HTTP/2 the kernel's time is another's
      http2 sinceSent=291 ready=60 -> processing=240 transfer=1 local=60.1
    and was sent twice: the first time was no later than what the kernel tells
      sinceSent=291 resent=1 ready=60 -> processing=290 transfer=1 local=10.1
    by less than a round trip
      total=46 sinceSent=46 segments=2 ready=2 first=41 roundTrip=40
        -> processing=40 transfer=5 local=1.1 firstByte=41.1
    """

  private static let uploads = """
    the first of a process, whose kernel's clock has not been seen to move
      up=200 first=4 total=5 segments=1 noClock -> processing=4.95 transfer=0 local=0.15 firstByte=5.1
    one whose response lay unread, by ticks for longer than there was
      up=200 sinceSent=304 sinceReceived=304 segments=1 -> processing=0 transfer=0 local=301.1 firstByte=0.15
    one whose head came at its end, as far as the kernel's clock can tell
      up=9000000 total=801 free sinceSent=300 segments=2 head=496.1
        -> upload=500.95 processing=0 transfer=300 local=0.15 firstByte=501.1
    one whose head had come before its end
      up=9000000 total=801 free sinceSent=300 segments=2 head=401.1 -> upload=500.95 response=300 local=0.15
    one that was cut in its response
      up=200 failed sinceSent=300 body=200 head=251.1
        -> processing=250.95 transfer=50 local=0.15 firstByte=251.1 cut=transfer
    one that was cut in its response, and nobody got the head
      up=200 failed sinceSent=300 segments=1 body=200 -> response=300.95 local=0.15 cut=response
    one that was answered and cut before its end
      up=2000000 free failed sinceSent=0 body=9000000 -> local=0.15
    one whose response the close ends
      up=200 sinceSent=300 sinceReceived=60 segments=1 closed
        -> processing=240.95 transfer=60 local=0.15 firstByte=241.1
    one by HTTP/2
      up=200 http2 sinceSent=300 segments=1 -> local=0.15
    one of which all may have been sent again
      up=65536 total=801 free sinceSent=300 segments=1 resent=1 -> local=0.15
    a long one, partly sent again
      up=65537 total=801 free sinceSent=300 segments=1 resent=1
        -> upload=500.95 processing=300 transfer=0 local=0.15 firstByte=801.1
    one on a connection of which nothing was read before
      up=9000000 total=801 free sinceSent=300 segments=1 noPrevious -> upload=500.95 response=300 local=0.15
    one whose response lay unread
      up=200 sinceSent=300 sinceReceived=88 segments=1
        -> processing=212.95 transfer=0 local=88.15 firstByte=213.1
    one that was answered before its end
      up=9000000 free sinceSent=24 sinceReceived=88 segments=1 -> upload=276.95 response=0 local=24.15
    one that got stuck
      up=2000000 total=2000 free unanswered failed sinceSent=1600 body=9000000
        -> upload=1999.95 local=0.15 cut=upload
    one that got stuck in the kernel
      up=60000 total=2000 free unanswered failed sinceSent=1600 body=60000 unsent=1
        -> upload=1999.95 local=0.15 cut=upload
    one that got stuck, or another one by HTTP/2
      up=60000 total=2000 free https unanswered failed sinceSent=1600 body=60000 unsent=1 -> local=0.15
    one that was not answered, and no kernel
      up=200 total=2000 https unanswered failed body=200 -> local=0.15
    one that was not answered
      up=9000000 total=2000 free unanswered failed sinceSent=1600 body=9000000
        -> upload=399.95 processing=1600 local=0.15 cut=processing
    """

  /// As libcurl says it from 8.10 on.
  private static let uploadsOfNewerLibcurl = """
    a long one by HTTP/2
      up=9000000 http2 sent=200.05 queue=0 first=300 -> upload=200 processing=99.95 transfer=1 local=0.15
    one that was answered at its end, as far as the kernel's clock can tell
      up=9000000 sinceSent=95.95 segments=2 sent=100.05 queue=0 first=200.05
        -> upload=205 processing=0 transfer=95.95 local=0.15 firstByte=205.15
    one with an interim response while the kernel sent it
      up=9000000 sinceSent=95.95 segments=2 sent=100.05 queue=0 first=150.05
        -> upload=205 response=95.95 local=0.15
    one that was answered before libcurl had sent it
      up=9000 sent=0 queue=0 first=300 -> local=0.15
    one after a wait, by a libcurl that counts from the begin
      up=9000000 total=801 queue=500 look=500.001 ready=500.05 first=800 sent=700.05 fromBegin
        -> queue=500 upload=200 processing=99.95 transfer=1 local=0.15 firstByte=800.1
    one with an interim response
      up=9000000 sent=200 queue=0 first=0.4 -> upload=199.95 response=101 local=0.15
    one with an interim response, and the head to a delegate
      up=9000000 sent=200 queue=0 first=0.4 head=250.1
        -> upload=199.95 processing=50 transfer=51 local=0.15 firstByte=250.1
    one with an interim response just before its end
      up=200 sent=0.09 queue=0 first=0.08 -> response=300.95 local=0.15
    the same by HTTP/2, where a segment may be another's
      up=200 http2 sinceSent=0 segments=1 sent=0.09 queue=0 first=0.08 -> response=300.95 local=0.15
    one with a late answer
      up=200 failed sent=0.09 queue=0 body=200 status=0 first=0 -> processing=300.95 local=0.15 cut=processing
    """

  /// The server has closed the connection under the first attempt.
  private static let resends = """
    on a new connection
      resend=20 total=321 opened=1 look=0.06 connect=0.5 ready=0.61
        -> resolve=0.06 connect=0.44 processing=299.5 transfer=1 local=0.1 firstByte=320.1
    on another that was open
      resend=20 total=321 -> processing=300 transfer=1 local=0.1 firstByte=320.1
    after an attempt that took its time
      resend=20 total=26 opened=1 look=15 connect=0.5 ready=15.6 first=5
        -> resolve=0.5 connect=0 processing=4.5 transfer=1 local=0.1 firstByte=25.1
    after an attempt that took its time, and an unknown wait
      resend=20 total=60 opened=1 look=35 connect=0.5 ready=35.6 first=5
        -> resolve=0.5 connect=0 processing=4.5 local=0.1
    over TLS
      https resend=20 total=321 opened=1 look=0.06 connect=0.5 tls=1.5 ready=1.61
        -> resolve=0.06 connect=0.44 tls=1 processing=298.5 transfer=1 local=0.1 firstByte=320.1
    by a libcurl that tells the wait
      resend=520 total=821 opened=1 look=0.06 connect=0.5 ready=500.61 queue=500 fromBegin
        -> queue=500 resolve=0.06 connect=0.44 processing=299.5 transfer=1 local=0.1 firstByte=820.1
    with a body
      up=200 sinceSent=300 segments=1 resend=20 total=321 opened=1 look=0.06 connect=0.5 ready=0.61
        first=0.62 sent=0.7
        -> resolve=0.06 connect=0.44 processing=300.5 transfer=0 local=0.1 firstByte=321.1
    to a server that is gone
      unanswered failed resend=20 total=20.3 first=0 -> local=0.1
    to a server that does not answer either
      free unanswered failed resend=20 total=321 opened=1 look=0.06 connect=0.5 ready=0.61 first=0
        -> resolve=0.06 connect=0.44 processing=300.5 local=0.1 cut=processing
    by HTTP/2
      http2 resend=20 total=321 opened=2 -> local=0.1
    """

  struct Example {
    let name: String
    let facts: [Substring]
    let expected: String

    /// Those of a table: a line that is not indented is a name.
    static func all(in table: String) -> [Example] {
      var names: [(name: Substring, text: String)] = []
      for line in table.split(separator: "\n") {
        if line.first == " " { names[names.count - 1].text += line } else { names.append((line, "")) }
      }
      return names.map { name, text in
        let sides = text.components(separatedBy: "->").map { $0.split(separator: " ") }
        return Example(
          name: "\(name)", facts: sides[0], expected: sides.dropFirst().joined().joined(separator: " "))
      }
    }

    static func transfer(_ facts: [Substring]) throws -> TransferInfo {
      var transfer = TransferInfo()
      if facts.first != "bare" {
        (transfer.statusCode, transfer.protocolVersion) = (200, .http11)
        (transfer.connectionCount, transfer.sentBytes, transfer.resolution) = (0, 0, 10_000_000)
        (transfer.nameLookup, transfer.preTransfer, transfer.startTransfer) = (20_000, 50_000, 300_000_000)
        transfer.total = 301_000_000
      }
      transfer.isNative = true
      for fact in facts {
        let parts = fact.split(separator: "=")
        let number = parts.count > 1 ? try #require(Double(parts[1])) : 0
        try set(parts[0], Int64((number * 1_000_000).rounded()), Int(number), of: &transfer)
      }
      if transfer.elapsed == 0 { transfer.elapsed = transfer.total + 100_000 }
      return transfer
    }

    private static func set(
      _ name: Substring, _ time: Int64, _ count: Int, of transfer: inout TransferInfo
    ) throws {
      func kernel(_ change: (inout TCPInfo.Reading) -> Void) {
        let before = with(TCPInfo()) { $0.receivedSegments = 7 }
        let info = with(before) { ($0.receivedSegments, $0.unsentBytes) = (9, 0) }
        var reading = transfer.connection ?? TCPInfo.Reading(info: info, previous: before)
        change(&reading)
        transfer.connection = reading
      }
      switch name {
      case "bare": break
      case "total": transfer.total = time
      case "elapsed": transfer.elapsed = time
      case "queue": transfer.queue = time
      case "look": transfer.nameLookup = time
      case "connect": transfer.connect = time
      case "tls": transfer.appConnect = time
      case "ready": transfer.preTransfer = time
      case "sent": transfer.postTransfer = time
      case "first": transfer.startTransfer = time
      case "resend": transfer.resend = time
      // libcurl before 8.10 takes the beginning of an upload for the first byte.
      case "up": (transfer.sentBytes, transfer.startTransfer) = (Int64(count), 60_000)
      case "body": transfer.bodySize = Int64(count)
      case "opened": transfer.connectionCount = count
      case "status": transfer.statusCode = count
      case "unanswered": (transfer.statusCode, transfer.protocolVersion) = (0, nil)
      case "http1.0": transfer.protocolVersion = .http10
      case "http2": transfer.protocolVersion = .http2
      case "https": transfer.relay.isSecure = true
      case "head": transfer.relay.head = time
      case "restart": transfer.relay.restart = time
      case "redirects": transfer.redirectCount = count
      case "tunnel": transfer.tunnel = .requested
      case "tunnelOpen": transfer.tunnel = .open
      case "refused": transfer.isRedirectRefused = true
      case "failed": transfer.end = .failed
      case "cancelled": transfer.end = .cancelled
      case "closing": transfer.isClosing = true
      case "free": transfer.hadFreeConnection = true
      case "fromBegin": transfer.countFromTurn()
      case "sinceSent": kernel { $0.info.sinceDataSent = time }
      case "noClock": kernel { $0.info.sinceDataSent = nil }
      case "sinceReceived": kernel { $0.info.sinceDataReceived = time }
      case "segments": kernel { $0.info.receivedSegments = 7 + count }
      case "resent": kernel { $0.info.retransmittedSegments = count }
      case "resentBefore": kernel { $0.previous?.retransmittedSegments = count }
      case "noPrevious": kernel { $0.previous = nil }
      case "roundTrip": kernel { $0.info.roundTrip = time }
      case "unsent": kernel { $0.info.unsentBytes = UInt32(count) }
      case "closed": kernel { $0.info.state = 8 }
      default: throw UnknownFact(name: String(name))
      }
    }

    private struct UnknownFact: Error { let name: String }
  }

  @Test func `phases follow from what is known`() throws {
    let tables = [
      Self.waits, Self.ends, Self.unread, Self.late, Self.uploads, Self.uploadsOfNewerLibcurl, Self.resends,
    ]
    for example in tables.flatMap(Example.all) {
      let transfer = try Example.transfer(example.facts)
      let phases = TransferPhases(of: transfer)
      func text(_ name: String, _ nanoseconds: Int64?) -> String {
        let milliseconds = nanoseconds.map { "\(Double($0 / 1_000) / 1_000)" } ?? "none"
        return "\(name)=\(milliseconds.hasSuffix(".0") ? String(milliseconds.dropLast(2)) : milliseconds)"
      }
      let times = RequestTimings.Phase.allCases.compactMap { phase in
        phases.timings[nanoseconds: phase].map { (phase, $0) }
      }
      var found = times.map { text($0.rawValue, $1) }
      if phases.firstByte != (phases.timings[.transfer] == nil ? nil : 300_100_000) {
        found.append(text("firstByte", phases.firstByte))
      }
      if transfer.end != .complete, let last = phases.last { found.append("cut=\(last)") }
      if times.reduce(0, { $0 + $1.1 }) > transfer.elapsed { found.append("longer than the request") }
      expectEqual(found.joined(separator: " "), example.expected, "\(example.name)")
    }
  }

  /// libcurl's times, and what they are from the turn on.
  private static let counted = """
    a first request
      bare queue=10 look=15 connect=30 tls=60 ready=65 sent=80 first=100
        -> bare queue=10 look=5 connect=20 tls=50 ready=55 sent=70 first=90
    cut in the connection
      bare queue=10 look=15 -> bare queue=10 look=5
    on a connection that was open, without a look-up
      bare queue=10 ready=15 first=20 -> bare queue=10 ready=5 first=10
    the wait twice: it ends a nanosecond before the look-up
      bare queue=90 look=50 ready=60 first=70
        -> bare queue=49.999999 look=0.000001 ready=10.000001 first=20.000001
    no wait
      bare look=15 ready=65 -> bare look=15 ready=65
    a wait alone
      bare queue=9 -> bare queue=9
    a second attempt
      bare queue=30 connect=5 tls=15 ready=25 resend=20 -> bare queue=10 connect=5 tls=15 ready=25 resend=20
    a second attempt after a short wait
      bare queue=7 connect=5 ready=25 resend=9 -> bare queue=7 connect=5 ready=25 resend=9
    a second attempt whose wait is longer than it
      bare queue=7 connect=5 ready=3 resend=9 -> bare queue=0 connect=5 ready=3 resend=9
    """

  @Test func `times are counted from the turn`() throws {
    let examples = Example.all(in: Self.counted)
    let counted = try examples.map { try with(Example.transfer($0.facts)) { $0.countFromTurn() } }
    try expectEqual(counted, examples.map { try Example.transfer($0.expected.split(separator: " ")) })
  }
}

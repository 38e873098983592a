import TapCore

/// The bytes of a response that are not sent yet.
package struct UnsentBytes: Sendable {
  /// The most bytes of a body that is copied behind the head, so that both leave in one call, and in one
  /// segment if they fit. A larger body stays in the handler's array, which connections may share.
  private static let gatheringLimit = 16_384

  /// Whether the array of a body is kept until it is sent.
  static func keeps(_ body: [UInt8]) -> Bool { body.count > gatheringLimit }

  /// None is empty.
  private var parts: [ArraySlice<UInt8>] = []

  package init() {}

  init(_ response: EndpointResponse, isHead: Bool, minorVersion: Int, keepsAlive: Bool, date: [UInt8]) {
    let head = Self.head(response, minorVersion: minorVersion, keepsAlive: keepsAlive, date: date)
    self.init(head: head, body: isHead ? [] : response.body)
  }

  package init(head: [UInt8], body: [UInt8]) {
    parts = Self.keeps(body) ? [head[...], body[...]] : [(head + body)[...]]
  }

  package var isEmpty: Bool { parts.isEmpty }

  /// What one call can send.
  package func withNext<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    (parts.first ?? []).withUnsafeBytes(body)
  }

  package mutating func removeFirst(_ count: Int) {
    guard !parts.isEmpty else { return }
    parts[0] = parts[0].dropFirst(count)
    if parts[0].isEmpty { parts.removeFirst() }
  }

  /// RFC 9112, section 4.
  private static func head(
    _ response: EndpointResponse, minorVersion: Int, keepsAlive: Bool, date: [UInt8]
  ) -> [UInt8] {
    var head: [UInt8] = []
    head.reserveCapacity(256)
    func write(_ text: String) { head.append(contentsOf: text.utf8) }
    for text in ["HTTP/1.1 ", String(response.status), " ", response.reasonPhrase, "\r\nDate: "] {
      write(text)
    }
    head.append(contentsOf: date)
    for field in response.headers.fields {
      for text in ["\r\n", field.name, ": ", field.value] { write(text) }
    }
    write("\r\nContent-Length: ")
    write(String(response.body.count))
    if !keepsAlive {
      write("\r\nConnection: close")
    } else if minorVersion == 0 {
      // RFC 9112, section 9.3: the response to a 1.0 client that has asked to persist must confirm it.
      write("\r\nConnection: keep-alive")
    }
    write("\r\n\r\n")
    return head
  }
}

/// The bodies that connections have yet to send. One that several connections share counts once.
struct UnsentBodies {
  /// The address of a body's bytes, which are not moved as long as a connection has them.
  typealias ID = UnsafeRawPointer

  private var bodies: [ID: (bytes: Int, users: Int)] = [:]
  private var bytes = 0

  /// - Returns: `nil` if there would be more bytes than the limit. One body may always be sent.
  mutating func add(_ body: [UInt8], limit: Int) -> ID? {
    guard let id = body.withUnsafeBytes({ $0.baseAddress }) else { return nil }
    guard bodies[id] != nil || bodies.isEmpty || body.count <= limit - bytes else { return nil }
    if bodies[id] == nil { bytes += body.count }
    bodies[id, default: (body.count, 0)].users += 1
    return id
  }

  mutating func remove(_ id: ID) {
    guard let body = bodies[id] else { return }
    if body.users > 1 {
      bodies[id]?.users -= 1
    } else {
      bodies[id] = nil
      bytes -= body.bytes
    }
  }
}

/// The clocks' readings when an event reaches a connection.
package struct EventTime: Sendable {
  /// For deadlines.
  package var instant: ContinuousClock.Instant
  /// The encoded `Date` of a response that is made now (RFC 9110, section 6.6.1).
  package let date: [UInt8]

  package init(instant: ContinuousClock.Instant, date: [UInt8]) {
    (self.instant, self.date) = (instant, date)
  }

  /// The date of a message (RFC 9110, section 5.6.7): `Sat, 21 Nov 2026 09:30:00 GMT`. Clamped to 1970 and
  /// 9999.
  package static func date(secondsSinceEpoch: Int64) -> [UInt8] {
    let (days, time) = min(max(secondsSinceEpoch, 0), 253_402_300_799).quotientAndRemainder(
      dividingBy: 86_400)
    let date = CalendarDay.date(daysSinceEpoch: days)
    func twoDigits(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
    let weekday = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][Int(days % 7)]
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    let day = "\(twoDigits(date % 100)) \(months[Int(date / 100 % 100 - 1)]) \(date / 10_000)"
    let clock = [time / 3600, time / 60 % 60, time % 60].map(twoDigits).joined(separator: ":")
    return Array("\(weekday), \(day) \(clock) GMT".utf8)
  }

  /// Reads the clocks. The date is encoded again only when its second has changed.
  struct Clock {
    private var second: Int64 = .min
    private var date: [UInt8] = []

    mutating func now() -> EventTime {
      let current = Timestamp.now.nanosecondsSinceEpoch / 1_000_000_000
      if current != second { (second, date) = (current, EventTime.date(secondsSinceEpoch: current)) }
      return EventTime(instant: .now, date: date)
    }
  }
}

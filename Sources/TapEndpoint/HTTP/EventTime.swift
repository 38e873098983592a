/// The clocks' readings when an event reaches a connection.
package struct EventTime: Sendable {
  /// For deadlines.
  package var instant: ContinuousClock.Instant
  /// The encoded `Date` of a response that is made now (RFC 9110, section 6.6.1).
  package let date: [UInt8]

  package init(instant: ContinuousClock.Instant, date: [UInt8]) {
    (self.instant, self.date) = (instant, date)
  }
}

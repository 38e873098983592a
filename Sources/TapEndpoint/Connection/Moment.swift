/// What the edge's clocks say when an event reaches a connection, which has none of its own.
package struct Moment: Sendable {
  /// For deadlines.
  package var instant: ContinuousClock.Instant
  /// The `Date` of an answer that is made now (RFC 9110, section 6.6.1), encoded.
  package var date: [UInt8]

  package init(instant: ContinuousClock.Instant, date: [UInt8]) {
    self.instant = instant
    self.date = date
  }
}

extension RequestSnapshot {
  /// A request that waits for the response and has been active for so long.
  package init(_ request: RequestDescription, for duration: Duration, wait: RequestWait? = .response) {
    let now = Instant.now
    let begin = Instant(nanoseconds: now.nanoseconds &- duration.nanoseconds)
    self.init(request, start: .now, begin: begin, at: now, wait: wait)
  }

  /// A request of which little is known.
  package static func bare(
    at now: Instant = .now, wait: RequestWait? = nil, lastActivity: Instant? = nil
  ) -> RequestSnapshot {
    var snapshot = RequestSnapshot(
      RequestDescription(method: "GET", url: "http://a/"), start: Timestamp(nanosecondsSinceEpoch: 0),
      begin: now, at: now, wait: wait)
    snapshot.lastActivity = lastActivity
    return snapshot
  }
}

extension RequestProgressSource {
  /// What is known now.
  package var progress: RequestSnapshot {
    var snapshot = RequestSnapshot.bare()
    describe(&snapshot)
    return snapshot
  }
}

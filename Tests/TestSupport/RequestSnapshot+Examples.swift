extension RequestSnapshot {
  /// A request that has been active for so long, and by default waits for the response.
  package init(
    _ request: RequestDescription, for duration: Duration,
    _ progress: RequestProgress = RequestProgress(wait: .response), at now: Instant = .now
  ) {
    let begin = Instant(nanoseconds: now.nanoseconds &- duration.nanoseconds)
    self.init(request, start: .now, begin: begin, progress, at: now)
  }
}

extension RequestSnapshot {
  /// A request that waits for the response and has been under way for so long.
  package init(_ request: RequestDescription, for duration: Duration) {
    self.init(
      request: request, start: .now, duration: duration, progress: RequestProgress(wait: .response), at: .now)
  }
}

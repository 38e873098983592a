import Synchronization

/// The record of one request, from its begin to its one end, and of what has been delivered of it.
///
/// Foundation starts a loader again after a suspension, stops one that never started, and reports failures after a finish; an
/// app may end a request on eight threads. The state machine under the lock decides which call begins the request and which ends
/// it. What consumers get is made when it is delivered, off the path of the request.
package final class RequestRecord: Sendable {
  private struct State: Sendable {
    /// What the request is, with what the app has added to it, until its end is delivered. `nil` where a source describes it.
    var description: RequestDescription?
    var progress = Progress()
  }

  private struct Progress: Sendable {
    var start: Instant?
    var startTime = Timestamp(nanosecondsSinceEpoch: 0)
    var end: (kind: RequestEnd, instant: Instant)?
    var errorMessage: String?
    var requestBodySize: Int64?
    var responseBodySize: Int64?
    /// For how long the request has waited, until that is delivered.
    var wait: Duration?
    /// Whether the request is in the recorder's queue. One delivery covers everything up to then.
    var isQueued = true
    /// What the metrics gave at the begin, once that is delivered.
    var series: RequestMetrics.ActiveSeries?
    var isBeginDelivered = false

    var isActive: Bool { start != nil && end == nil }
  }

  private let source: (any RequestSource)?
  private let recorder: RequestRecorder
  private let state: Mutex<State>

  /// Makes the record of a request that has not begun. It is queued at once, so that its begin needs no work on the queue.
  package init(_ source: any RequestSource, recorder: RequestRecorder) {
    self.source = source
    self.recorder = recorder
    state = Mutex(State())
    recorder.count(1)
    recorder.add(self)
  }

  /// Makes the record of a request that begins now.
  init(_ description: consuming RequestDescription, recorder: RequestRecorder) {
    source = nil
    self.recorder = recorder
    state = Mutex(
      State(description: consume description, progress: Progress(start: .now, startTime: .now)))
    recorder.count(1)
    recorder.add(self)
  }

  deinit { recorder.count(-1) }

  /// Whether the request has begun and not ended.
  package var isActive: Bool { state.withLock { $0.progress.isActive } }

  /// Begins the request, unless it has begun before.
  package func begin(at instant: Instant, time: Timestamp) {
    announce { state in
      guard state.progress.start == nil else { return false }
      state.progress.start = instant
      state.progress.startTime = time
      return true
    }
  }

  /// Ends the request, unless it has ended or never begun.
  ///
  /// - Parameters:
  ///   - errorMessage: What went wrong, if something did.
  ///   - template: Replaces that of the description.
  ///   - requestBodySize: The bytes of the request's body, where no source tells them.
  ///   - responseBodySize: The bytes of the response's body, likewise.
  package func end(
    _ end: RequestEnd, at instant: Instant = .now, errorMessage: String? = nil, template: String? = nil,
    requestBodySize: Int? = nil, responseBodySize: Int? = nil
  ) {
    announce { state in
      guard state.progress.isActive else { return false }
      state.progress.end = (end, instant)
      state.progress.errorMessage = errorMessage
      if let template { state.description?.urlTemplate = template }
      state.progress.requestBodySize = requestBodySize.map(Int64.init)
      state.progress.responseBodySize = responseBodySize.map(Int64.init)
      return true
    }
  }

  /// Adds fields to the description, unless the request has ended.
  func add(_ fields: [String: FieldValue]) {
    state.withLock { if $0.progress.end == nil { $0.description?.fields.merge(fields) { $1 } } }
  }

  /// The request has waited for so long that it may never end.
  package func waits(for duration: Duration) {
    announce { state in
      guard state.progress.isActive else { return false }
      state.progress.wait = duration
      return true
    }
  }

  /// - Parameter transition: Whether there is something to deliver now.
  @inline(__always)
  private func announce(_ transition: (inout State) -> Bool) {
    let mustQueue = state.withLock { state in
      guard transition(&state), !state.progress.isQueued else { return false }
      state.progress.isQueued = true
      return true
    }
    if mustQueue { recorder.add(self) }
  }

  /// Delivers what has not been delivered. Called by the recorder's drain, by one thread at a time.
  func deliver() {
    // No lock is held while consumers work. The end takes the description out of the state: a copy costs as much as the rest.
    let (given, pending) = state.withLock { state in
      let pending = state.progress
      (state.progress.isQueued, state.progress.wait) = (false, nil)
      state.progress.isBeginDelivered = pending.start != nil
      return (pending.end == nil ? state.description : state.description.take(), pending)
    }
    guard let start = pending.start, let description = given ?? source?.makeDescription() else { return }
    let (metrics, consumers) = (recorder.metrics(of: description.direction), recorder.consumers)
    var series = pending.series
    if !pending.isBeginDelivered {
      series = metrics?.begin(description)
      for consumer in consumers { consumer.requestStarted(description) }
    }
    if let wait = pending.wait {
      for consumer in consumers { consumer.requestWaits(description, for: wait) }
    }
    guard let end = pending.end else {
      if !pending.isBeginDelivered { state.withLock { $0.progress.series = series } }
      return
    }
    var observation = RequestObservation(
      request: consume description, start: pending.startTime,
      elapsed: end.instant.nanoseconds &- start.nanoseconds, end: end.kind)
    observation.errorMessage = pending.errorMessage
    observation.requestBodySize = pending.requestBodySize
    observation.responseBodySize = pending.responseBodySize
    source?.complete(&observation, start: start)
    if let series { metrics?.end(observation, series) }
    for consumer in consumers { consumer.requestEnded(observation) }
  }
}

/// What describes a request, asked off its path, within ``RequestRecorder/drain()``.
package protocol RequestSource: Sendable {
  /// The description. Called twice if the begin is delivered before the end.
  func makeDescription() -> RequestDescription
  /// Adds what is known of a request that has ended.
  func complete(_ observation: inout RequestObservation, start: Instant)
}

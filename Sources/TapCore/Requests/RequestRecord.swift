import Synchronization

/// The record of one request, from its begin to its one end, and of what has been delivered of it.
///
/// Foundation starts a loader again after a suspension, stops one that never started, and reports failures after a finish; an
/// app may end a request on eight threads. The state machine under the lock decides which call begins the request and which ends
/// it. What consumers get is made when it is delivered, off the path of the request.
package final class RequestRecord: Sendable {
  private struct State: Sendable {
    var start: Instant?
    var startTime = Timestamp(nanosecondsSinceEpoch: 0)
    var end: (kind: RequestEnd, instant: Instant)?
    var additions = Additions()
    /// For how long the request has waited, until that is delivered.
    var wait: Duration?
    /// Whether the request is in the recorder's queue. All that there is by then is delivered when its turn comes.
    var isQueued = false
    /// What the metrics gave at the begin, once that is delivered.
    var series: RequestMetrics.ActiveSeries?
    var isBeginDelivered = false

    var isActive: Bool { start != nil && end == nil }

    /// There is something to deliver. Whether the request has to be put into the queue for that.
    mutating func announce() -> Bool {
      defer { isQueued = true }
      return !isQueued
    }
  }

  /// What the app adds until the end.
  struct Additions: Sendable {
    var fields: [String: FieldValue] = [:]
    var template: String?
    var requestBodySize: Int64?
    var responseBodySize: Int64?
  }

  private let source: any RequestSource
  private let recorder: RequestRecorder
  private let state = Mutex(State(isQueued: true))

  /// Makes the record of a request that has not begun. It is in the queue already: its begin then costs its thread nothing more.
  package init(_ source: any RequestSource, recorder: RequestRecorder) {
    self.source = source
    self.recorder = recorder
    recorder.count(1)
    recorder.add(self)
  }

  deinit { recorder.count(-1) }

  /// Whether the request has begun and not ended.
  package var isActive: Bool { state.withLock { $0.isActive } }

  /// Begins the request, unless it has begun before.
  package func begin(at instant: Instant, time: Timestamp) {
    announce { state in
      guard state.start == nil else { return false }
      state.start = instant
      state.startTime = time
      return state.announce()
    }
  }

  /// Ends the request, unless it has ended or never begun.
  package func end(_ end: RequestEnd, at instant: Instant = .now) {
    self.end(end, at: instant) { _ in }
  }

  /// Ends the request with what is known then, likewise.
  @inline(__always)
  func end(_ end: RequestEnd, at instant: Instant = .now, _ add: (inout Additions) -> Void) {
    announce { state in
      guard state.isActive else { return false }
      state.end = (end, instant)
      add(&state.additions)
      return state.announce()
    }
  }

  /// Adds something, unless the request has ended.
  func add(_ change: (inout Additions) -> Void) {
    state.withLock { if $0.end == nil { change(&$0.additions) } }
  }

  /// The request has waited for so long that it may never end.
  package func waits(for duration: Duration) {
    announce { state in
      guard state.isActive else { return false }
      state.wait = duration
      return state.announce()
    }
  }

  /// - Parameter transition: Whether the request has to be put into the queue.
  @inline(__always)
  private func announce(_ transition: (inout State) -> Bool) {
    if state.withLock({ transition(&$0) }) { recorder.add(self) }
  }

  /// Delivers what has not been delivered. Called by the recorder's drain, by one thread at a time.
  func deliver() {
    // A copy, so that no lock is held while consumers work.
    let pending = state.withLock { state in
      defer { (state.isQueued, state.wait, state.isBeginDelivered) = (false, nil, state.start != nil) }
      return state
    }
    guard let start = pending.start else { return }
    var description = source.makeDescription()
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
      if !pending.isBeginDelivered { state.withLock { $0.series = series } }
      return
    }
    let additions = pending.additions
    if !additions.fields.isEmpty { description.fields.merge(additions.fields) { $1 } }
    if let template = additions.template { description.urlTemplate = template }
    var observation = RequestObservation(
      request: description, start: pending.startTime, elapsed: end.instant.nanoseconds &- start.nanoseconds,
      end: end.kind)
    observation.requestBodySize = additions.requestBodySize
    observation.responseBodySize = additions.responseBodySize
    source.complete(&observation, start: start)
    if let series { metrics?.end(observation, series) }
    for consumer in consumers { consumer.requestEnded(observation) }
  }
}

/// What describes a request, asked off its path, within ``RequestRecorder/drain()``.
package protocol RequestSource: Sendable {
  /// The description. It may be asked for twice: where the begin is delivered before the end.
  func makeDescription() -> RequestDescription
  /// Adds what is known of a request that has ended.
  func complete(_ observation: inout RequestObservation, start: Instant)
}

extension RequestDescription: RequestSource {
  package func makeDescription() -> RequestDescription { self }

  package func complete(_ observation: inout RequestObservation, start: Instant) {}
}

import Synchronization

/// One request, from its begin to its one end, and what has been delivered of it.
///
/// Foundation starts a loader again after a suspension, stops one that never started, and reports failures
/// after a finish; an app may end a request on eight threads. The state under the lock decides which call
/// begins the request and which ends it. Consumers get it when it is delivered, off the path of the request.
package final class RequestRecord: Sendable {
  private enum Phase: Sendable {
    case made, active, ended
  }

  private struct State: Sendable {
    var phase = Phase.made
    var start = Instant.never
    /// Whether the request is in the recorder's queue, into which it is put as it is made. One delivery
    /// covers everything up to then.
    var isQueued = true
    /// Where the begin was counted, once it is delivered, and the end will be.
    var series: RequestSeries?
    /// The app has cancelled the request before it began. It may begin all the same: Foundation may start a
    /// loader that it has stopped.
    var isGivenUp = false
    /// The request is in the table of what is under way.
    var isListed = false
    /// The request belongs into that table.
    var isUnderWay: Bool { phase == .active || phase == .made && !isGivenUp }
    /// The status code of the response, of which the app has told.
    var statusCode: Int?
  }

  /// A value that the compiler does not copy.
  private struct Contents: ~Copyable, Sendable {
    var observation: RequestObservation
  }

  let recorder: RequestRecorder
  private let source: (any RequestProgressSource)?
  /// The app calls ``ActiveRequest/responseBegan(statusCode:)`` when the response begins.
  private let isToldByApp: Bool
  private let state: Mutex<State>
  /// What is known of the request: at first its description. Guarded by `state` until its end, and never
  /// changed after it: consumers read it here, since a copy costs as much as the rest. The runtime has
  /// nothing to check.
  @exclusivity(unchecked) private nonisolated(unsafe) var contents: Contents

  /// Makes the record of a request that has not begun. It is queued at once, so that its begin needs no work
  /// on the queue.
  ///
  /// - Parameter source: What knows how far the request has come.
  package init(
    _ description: consuming RequestDescription, recorder: RequestRecorder,
    progress source: (any RequestProgressSource)? = nil
  ) {
    (self.recorder, self.source, isToldByApp) = (recorder, source, false)
    contents = Contents(observation: RequestObservation(begun: description))
    state = Mutex(State())
    recorder.count(1)
    recorder.add(self)
  }

  /// Makes the record of a request that begins now.
  init(begun description: consuming RequestDescription, recorder: RequestRecorder) {
    (self.recorder, source, isToldByApp) = (recorder, nil, true)
    contents = Contents(observation: RequestObservation(begun: description, at: .now))
    state = Mutex(State(phase: .active, start: .now))
    recorder.count(1)
    recorder.add(self)
  }

  deinit { recorder.count(-1) }

  package var isActive: Bool { state.withLock { $0.phase == .active } }

  /// What the request is.
  package var description: RequestDescription { state.withLock { _ in contents.observation.request } }

  /// Begins the request, unless it has begun before.
  package func begin(at instant: Instant = .now, time: Timestamp = .now) {
    announce { state in
      guard state.phase == .made else { return false }
      state.phase = .active
      state.start = instant
      contents.observation.start = time
      return true
    }
  }

  /// Ends the request, unless it has ended. One that has not begun does not wait for its start any more.
  /// `add` adds what is known at the end: under the record's lock, and only if this is the end.
  package func end(
    _ end: RequestEnd, at instant: Instant = .now, _ add: (inout RequestObservation) -> Void = { _ in }
  ) {
    announce { state in
      guard state.phase == .active else {
        state.isGivenUp = true
        return state.phase == .made
      }
      state.phase = .ended
      contents.observation.end(end, after: instant.nanoseconds &- state.start.nanoseconds, add)
      return true
    }
  }

  /// Notes that the head of the response has come or gone.
  func noteResponse(statusCode: Int) {
    state.withLock { if $0.phase == .active { $0.statusCode = statusCode } }
  }

  /// Has what is known of the request brought up to date (``RequestProgressSource/look(then:)``).
  func look(then done: @escaping @Sendable () -> Void) {
    if let source { source.look(then: done) } else { done() }
  }

  /// What is known of the request now. `nil` once it has ended.
  ///
  /// - Parameter start: When it began, or since when it waits for its start.
  func snapshot(since start: Instant, at now: Instant) -> RequestSnapshot? {
    let (isUnderWay, phase, statusCode, request, begin) = state.withLock { state in
      (
        state.isUnderWay, state.phase, state.statusCode, contents.observation.request,
        contents.observation.start
      )
    }
    if !isUnderWay { return nil }
    let age = max(.zero, start.duration(to: now))
    if phase == .made {
      let made = Timestamp(
        nanosecondsSinceEpoch: Timestamp.now.nanosecondsSinceEpoch &- age.nanoseconds)
      return RequestSnapshot(
        request: request, start: made, duration: age, progress: RequestProgress(wait: .start), at: now)
    }
    let isInbound = request.direction == .inbound
    let wait: RequestWait =
      statusCode == nil ? (isInbound ? .handler : .response) : (isInbound ? .client : .body)
    let progress =
      source?.progress ?? RequestProgress(wait: isToldByApp ? wait : nil, statusCode: statusCode)
    return RequestSnapshot(request: request, start: begin, duration: age, progress: progress, at: now)
  }

  /// Adds fields to the description, unless the request has ended.
  func add(_ fields: [String: FieldValue]) {
    state.withLock { state in
      if state.phase != .ended { contents.observation.request.fields.merge(fields) { $1 } }
    }
  }

  /// - Parameter transition: Whether there is something to deliver now.
  @inline(__always)
  private func announce(_ transition: (inout State) -> Bool) {
    let mustQueue = state.withLock { state in
      guard transition(&state), !state.isQueued else { return false }
      state.isQueued = true
      return true
    }
    if mustQueue { recorder.add(self) }
  }

  /// Delivers what has not been delivered. Called by the recorder's drain, by one thread at a time.
  func deliver() {
    // No lock is held while consumers work.
    let (phase, start, series, isListed, isUnderWay) = state.withLock { state in
      state.isQueued = false
      defer { state.isListed = state.isUnderWay }
      return (state.phase, state.start, state.series, state.isListed, state.isUnderWay)
    }
    switch phase {
    case .ended:
      deliverEnd(of: contents, in: series, listed: isListed ? self : nil)
    case .active where series == nil:
      let request = description
      let series = recorder.metrics(of: request.direction).begin(request, at: start, listing: self)
      state.withLock { $0.series = series }
      for consumer in recorder.consumers { consumer.requestStarted(request) }
    case .made where isUnderWay && !isListed: recorder.metrics(of: .outbound).list(self)
    case .made where !isUnderWay && isListed: recorder.metrics(of: .outbound).unlist(self)
    case .active, .made: break
    }
  }

  private func deliverBegin(_ request: borrowing RequestDescription) -> RequestSeries {
    let series = recorder.metrics(of: request.direction).begin(request)
    for consumer in recorder.consumers { consumer.requestStarted(request) }
    return series
  }

  private func deliverEnd(of contents: borrowing Contents, in series: RequestSeries?, listed: RequestRecord?)
  {
    let series = series ?? deliverBegin(contents.observation.request)
    recorder.metrics(of: contents.observation.request.direction).end(
      contents.observation, series, listed: listed)
    for consumer in recorder.consumers { consumer.requestEnded(contents.observation) }
  }
}

extension RequestObservation {
  fileprivate mutating func end(_ end: RequestEnd, after nanoseconds: Int64, _ add: (inout Self) -> Void) {
    self.end = end
    elapsed = nanoseconds
    add(&self)
  }
}

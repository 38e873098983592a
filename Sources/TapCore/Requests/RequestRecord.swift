import Synchronization

/// One request, from when it is made to its one end, and what has been delivered of it.
///
/// Foundation starts a loader again after a suspension, stops one that never started, and reports failures
/// after a finish; an app may end a request on eight threads. The state under the lock decides which call
/// begins the request and which ends it. Consumers get it when it is delivered, off the path of the request.
package final class RequestRecord: Sendable {
  private enum Stage: Sendable {
    case made
    /// The app has cancelled the request before it began. It may still begin: Foundation may start a loader
    /// that it has stopped.
    case givenUp
    /// With the status code, if the app has reported the head of the response.
    case active(start: Instant, statusCode: Int? = nil)
    case ended
  }

  private enum Delivered: Sendable {
    case nothing
    /// The request has been in the table of its direction since then.
    case unstarted(since: Instant)
    /// The begin was counted in these series, and the end will be. The request has been in the table since
    /// its start.
    case begin(RequestSeries, since: Instant)
  }

  private struct State: Sendable {
    /// What knows how far the request has come, until its end. The thread of the request frees it: memory
    /// that the recorder's thread frees costs the next request more.
    var source: (any RequestProgressSource)?
    var stage = Stage.made
    var delivered = Delivered.nothing
    /// Whether the record is in the recorder's queue, as it is from its creation. One delivery covers
    /// everything up to then.
    var isQueued = true
    /// Whether the request was reported as unfinished before it ended. Never changes after the end: either
    /// the report or the end has the line of the request.
    var isReportedUnfinished = false
    /// Where the black box keeps the request until its end.
    var slot = BlackBox.Slot.none
    /// What the app makes within the request, if it serves it.
    var calls = ServedCalls()
  }

  /// A value that the compiler does not copy.
  private struct Contents: ~Copyable, Sendable {
    var observation: RequestObservation
  }

  package let recorder: RequestRecorder
  /// The app calls ``ActiveRequest/responseBegan(statusCode:route:protocolVersion:)`` when the response
  /// begins.
  private let isToldByApp: Bool
  /// `nil` unless the app makes the request within one that it serves.
  let call: ServedCall?
  private let state: Mutex<State>
  /// What is known of the request: at first its description. Guarded by `state` until its end, and unchanged
  /// afterwards: consumers read it without a copy, which would cost as much as the rest, and without the
  /// runtime's exclusivity check.
  @exclusivity(unchecked) private nonisolated(unsafe) var contents: Contents

  /// Makes the record of a request that has not begun. It is queued at once, so that its begin needs no work
  /// on the queue.
  ///
  /// - Parameter source: What knows how far the request has come.
  package init(
    _ description: consuming RequestDescription, recorder: RequestRecorder,
    progress source: (any RequestProgressSource)? = nil
  ) {
    (self.recorder, isToldByApp) = (recorder, false)
    call = ServedCall(description, at: .now)
    let slot = recorder.blackBox?.keep(description, isStarted: false) ?? .none
    contents = Contents(observation: RequestObservation(begun: description))
    state = Mutex(State(source: source, slot: slot))
    recorder.add(self)
  }

  init(begun description: consuming RequestDescription, recorder: RequestRecorder) {
    let now = Instant.now
    (self.recorder, isToldByApp) = (recorder, true)
    call = ServedCall(description, at: now)
    let time = Timestamp.now
    let slot =
      recorder.blackBox?.keep(description, isStarted: true, isToldByApp: true, at: now, time) ?? .none
    contents = Contents(observation: RequestObservation(begun: description, at: time))
    state = Mutex(State(stage: .active(start: now), slot: slot))
    recorder.add(self)
  }

  deinit {
    if let call {
      switch state.withLock({ $0.stage }) {
      case .made, .active: call.leave(at: .now)
      case .givenUp, .ended: break
      }
    }
    // It may not have begun.
    if recorder.blackBox != nil { state.withLock { if !$0.slot.isNone { free(&$0.slot, at: .now) } } }
  }

  package var isActive: Bool { state.withLock { if case .active = $0.stage { true } else { false } } }

  package var description: RequestDescription { state.withLock { _ in contents.observation.request } }

  /// Begins the request, unless it has begun before.
  package func begin(at instant: Instant = .now, time: Timestamp = .now) {
    announce { state in
      switch state.stage {
      case .active, .ended: return false
      case .givenUp: call?.enterAgain(at: instant)
      case .made: break
      }
      state.stage = .active(start: instant)
      contents.observation.start = time
      recorder.blackBox?.begin(&state.slot, contents.observation.request, at: instant, time)
      return true
    }
  }

  /// Ends the request, unless it has ended. A request that has not begun stops waiting for its start.
  ///
  /// - Parameter add: Runs under the record's lock, if this call ends the request.
  package func end(
    _ end: RequestEnd, at instant: Instant = .now, _ add: (inout RequestObservation) -> Void = { _ in }
  ) {
    announce { state in
      switch state.stage {
      case .made:
        state.stage = .givenUp
        call?.leave(at: instant)
      case .givenUp, .ended: return false
      case .active(let start, let statusCode):
        (state.stage, state.source) = (.ended, nil)
        if end.statusCode == nil { contents.observation.headStatusCode = statusCode }
        call?.leave(at: instant)
        contents.observation.end = end
        contents.observation.duration = .nanoseconds(instant.nanoseconds &- start.nanoseconds)
        add(&contents.observation)
        if var upstream = state.calls.time(at: instant) {
          // A call may end between the end of the served request and this one.
          let duration = contents.observation.duration.nanoseconds
          upstream.nanoseconds = min(upstream.nanoseconds, max(0, duration))
          contents.observation.upstream = upstream
        }
      }
      // With the lock: no line says the end of a request that a black box still has.
      if !state.slot.isNone { free(&state.slot, at: instant) }
      return true
    }
  }

  @inline(never)
  private func free(_ slot: inout BlackBox.Slot, at end: Instant) { recorder.blackBox?.free(&slot, at: end) }

  /// Changes what is known of the calls within this served request. Does nothing once it has ended.
  @discardableResult
  func withCalls<Result: Sendable>(_ change: (inout ServedCalls) -> Result) -> Result? {
    state.withLock { state in
      if case .ended = state.stage { return nil }
      return change(&state.calls)
    }
  }

  /// Notes that the head of the response was received or sent.
  func noteResponse(statusCode: Int, route: String?, _ protocolVersion: NetworkProtocolVersion?) {
    state.withLock { state in
      guard case .active(let start, _) = state.stage else { return }
      state.stage = .active(start: start, statusCode: statusCode)
      if let route { contents.observation.request.urlTemplate = route }
      if let protocolVersion { contents.observation.protocolVersion = protocolVersion }
      recorder.blackBox?.note(statusCode: statusCode, template: route, in: state.slot)
    }
  }

  /// Updates what is known of the request (``RequestProgressSource/look(then:)``).
  func look(then done: @escaping @Sendable () -> Void) {
    if let source = state.withLock({ $0.source }) { source.look(then: done) } else { done() }
  }

  /// What is known of the request now. `nil` once it has ended.
  ///
  /// - Parameter begin: When it began, or since when it waits for its start.
  func snapshot(since begin: Instant, at now: Instant) -> RequestSnapshot? {
    snapshot(since: begin, at: now) { _ in true }
  }

  /// The same, for a report that the process ends before the request does. `nil` also if there was one.
  func unfinished(since begin: Instant, at now: Instant) -> RequestSnapshot? {
    snapshot(since: begin, at: now) { state in
      if case .ended = state.stage { return false }
      return !exchange(&state.isReportedUnfinished, with: true)
    }
  }

  private func snapshot(
    since begin: Instant, at now: Instant, if isWanted: (inout State) -> Bool
  ) -> RequestSnapshot? {
    let (stage, source, calls, request, start) = state.withLock { state in
      let stage = isWanted(&state) ? state.stage : .ended
      return (stage, state.source, state.calls, contents.observation.request, contents.observation.start)
    }
    switch stage {
    case .givenUp, .ended: return nil
    case .made:
      let age = max(.zero, begin.duration(to: now)).nanoseconds
      let made = Timestamp(nanosecondsSinceEpoch: Timestamp.now.nanosecondsSinceEpoch &- age)
      return RequestSnapshot(request, start: made, begin: begin, RequestProgress(wait: .start), at: now)
    case .active(_, let statusCode):
      let isInbound = request.direction == .inbound
      let wait: RequestWait =
        statusCode == nil ? (isInbound ? .handler : .response) : (isInbound ? .client : .body)
      let progress =
        source?.progress ?? RequestProgress(wait: isToldByApp ? wait : nil, statusCode: statusCode)
      return RequestSnapshot(
        request, start: start, begin: begin, progress, calls.time(at: now), of: ObjectIdentifier(self),
        at: now)
    }
  }

  /// Adds fields to the description, unless the request has ended.
  func add(_ fields: [String: FieldValue]) {
    state.withLock { state in
      if case .ended = state.stage { return }
      contents.observation.request.fields.merge(fields) { $1 }
    }
  }

  /// - Parameter transition: Returns whether there is something to deliver.
  @inline(__always)
  private func announce(_ transition: (inout State) -> Bool) {
    let mustQueue = state.withLock { state in
      guard transition(&state), !state.isQueued else { return false }
      state.isQueued = true
      return true
    }
    if mustQueue { recorder.add(self) }
  }

  /// Delivers begin and end, as far as they have not been delivered. Called by the recorder's drain, by one
  /// thread at a time.
  func deliver() {
    // No lock is held while consumers work.
    let (stage, delivered, isReported) = state.withLock { state in
      state.isQueued = false
      return (state.stage, state.delivered, state.isReportedUnfinished)
    }
    switch (stage, delivered) {
    case (.made, .nothing):
      let now = Instant.now
      recorder.metrics(of: .outbound).withLock { $0.active.add(self, at: now) }
      state.withLock { $0.delivered = .unstarted(since: now) }
    case (.givenUp, .unstarted(let since)):
      recorder.metrics(of: .outbound).withLock { $0.active.remove(self, since: since) }
      state.withLock { $0.delivered = .nothing }
    case (.active(let start, _), .nothing), (.active(let start, _), .unstarted):
      let request = description
      let series = recorder.metrics(of: request.direction).withLock { store in
        if case .unstarted(let since) = delivered { store.active.remove(self, since: since) }
        let series = store.begin(request)
        store.active.add(self, at: start, in: series)
        return series
      }
      state.withLock { $0.delivered = .begin(series, since: start) }
      for consumer in recorder.consumers { consumer.requestStarted(request) }
    case (.ended, _): deliverEnd(of: contents, delivered, isReported: isReported)
    case (.made, _), (.givenUp, _), (.active, .begin): break
    }
  }

  private func deliverEnd(of contents: borrowing Contents, _ delivered: Delivered, isReported: Bool) {
    recorder.metrics(of: contents.observation.request.direction).withLock { store in
      let series: RequestSeries
      switch delivered {
      case .begin(let begun, let since):
        series = begun
        store.active.remove(self, since: since)
      case .unstarted(let since):
        series = store.begin(contents.observation.request)
        store.active.remove(self, since: since)
      case .nothing: series = store.begin(contents.observation.request)
      }
      store.end(contents.observation, series)
    }
    let isBegun = if case .begin = delivered { true } else { false }
    if !isBegun {
      for consumer in recorder.consumers { consumer.requestStarted(contents.observation.request) }
    }
    for consumer in recorder.consumers {
      if isReported {
        consumer.unfinishedRequestEnded(contents.observation)
      } else {
        consumer.requestEnded(contents.observation)
      }
    }
  }
}

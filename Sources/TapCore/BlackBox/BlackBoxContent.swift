/// What a black box says of a process: the requests that were active at its last sign of life.
package struct BlackBoxContent: Sendable {
  /// A request that had not ended.
  package struct Request: Sendable {
    var request: RequestDescription
    let isStarted: Bool
    let isToldByApp: Bool
    let begin: Instant
    let time: Timestamp
    let statusCode: Int?
  }

  package let processID: Int32
  package let serviceName: String
  /// When the process opened the file.
  package let opened: Timestamp
  /// Whether the process has ended by a shutdown, or an exit that has told what was active.
  package let isClosed: Bool
  /// The last sign of life: the newest begin or end of a request, or a mark that a thread sets each second.
  package let lastSign: Timestamp
  /// The active requests, oldest first, as they were then.
  package let requests: [RequestSnapshot]
  /// How many more there were, which found no slot.
  package let missingCount: Int
  /// How many may have been active or not: their slots were being written.
  package let tornCount: Int
  /// How many of the requests a later process has told.
  package let toldCount: Int

  /// Reads a file that was read three times, one after another, since another process may write to it.
  /// `nil` if no process has used it.
  ///
  /// - Parameter knownMethods: Those of the reader.
  package init?(_ readings: [[UInt8]], knownMethods: KnownMethods = .standard) throws(BlackBoxError) {
    guard let first = readings.first, let last = readings.last, readings.count == 3 else { return nil }
    guard let header = try BlackBoxHeader(first), let after = try BlackBoxHeader(last) else { return nil }
    guard header.opened == after.opened, header.processID == after.processID else {
      throw .isInUse(processID: after.processID)
    }
    let counts = readings.map(\.count)
    guard counts.allSatisfy({ $0 >= BlackBoxHeader.fileSize }) else { throw .isShort }
    guard counts.allSatisfy({ $0 == BlackBoxHeader.fileSize }) else { throw .isOther }
    let slots = readings.map { Array($0[BlackBoxHeader.size...]) }
    let reading = BlackBoxSlot.Reading(slots[1], before: slots[0], after: slots[2])
    let now = max(after.lastSign, reading.last ?? after.lastSign)
    (processID, serviceName, opened) = (header.processID, header.serviceName, header.opened)
    (isClosed, tornCount, toldCount) = (!after.isOpen, reading.tornCount, Int(clamping: after.toldCount))
    missingCount = Int(clamping: after.missingCount)
    lastSign = Timestamp(nanosecondsSinceEpoch: now.nanoseconds &+ after.wallClockLead)
    let sorted = reading.requests.sorted { $0.begin < $1.begin }
    // When each trace has last made a request that is active.
    let made = sorted.reduce(into: [TraceContext.TraceBits: Instant]()) { made, request in
      guard request.isStarted, request.request.direction == .outbound else { return }
      if let trace = request.request.traceContext?.traceBits { made[trace] = request.begin }
    }
    let lead = after.wallClockLead
    requests = isClosed ? [] : sorted.map { $0.snapshot(at: now, knownMethods, made: made, lead: lead) }
  }

  /// The requests that were active or unstarted, those without a slot included.
  package var requestCount: Int { requests.count + missingCount }

  /// Those that no process has told.
  package var untold: ArraySlice<RequestSnapshot> { requests.dropFirst(toldCount) }
}

extension BlackBoxContent.Request {
  fileprivate func snapshot(
    at now: Instant, _ knownMethods: KnownMethods, made: [TraceContext.TraceBits: Instant],
    lead: Int64
  ) -> RequestSnapshot {
    var request = request
    request.knownMethods = knownMethods
    let latest = request.traceContext.flatMap { made[$0.traceBits] }
    let makesRequest = latest.map { $0 >= begin } ?? false
    let isKnown = time.nanosecondsSinceEpoch != 0
    let start = isKnown ? time : Timestamp(nanosecondsSinceEpoch: begin.nanoseconds &+ lead)
    return RequestSnapshot(
      request, start: start, begin: begin,
      RequestProgress(wait: wait(makesRequest: makesRequest), statusCode: statusCode), at: now)
  }

  /// What is known without asking Foundation: nothing of a request of URLSession's that has begun.
  private func wait(makesRequest: Bool) -> RequestWait? {
    guard isStarted else { return .start }
    guard isToldByApp else { return nil }
    if request.direction == .outbound { return statusCode == nil ? .response : .body }
    return statusCode != nil ? .client : makesRequest ? .request : .handler
  }
}

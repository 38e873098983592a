public import TapCore

/// Writes one JSON line for each ended request that the app made or served. A thread writes the lines within
/// a tenth of a second: no request waits for a disk. When the destination fails, lines wait in the queue, and
/// those that do not fit are dropped and counted. Writing resumes by itself.
///
///     let log = try RequestLog(to: .file("requests.jsonl"))
///     // … as an observer of requests …
///     log.shutdown()
public final class RequestLog: RequestObserver, RequestConsumer {
  private let encoder: RequestLineEncoder
  private let appFields: LineFields
  private let filter: LogFilter
  /// At least one.
  private let places: [LogPlace]
  private let latest: RecentLines?

  /// Opens the destination, one place or several, and starts the writer.
  ///
  /// - Throws: ``RequestLogError`` if the destination cannot be opened or takes no lines, a field is invalid,
  ///   or no thread can be started.
  public init(
    to destination: Destination, configuration: Configuration = Configuration()
  ) throws(RequestLogError) {
    try LineFields.check(configuration.fields)
    guard destination.places.count <= Destination.limit else {
      throw RequestLogError(
        code: .cannotOpen,
        description:
          "a log has at most \(Destination.limit) places, not \(destination.places.count); name fewer")
    }
    encoder = RequestLineEncoder(configuration)
    appFields = LineFields(shared: configuration.fields, reserved: .app)
    filter = LogFilter(sampling: configuration.sampling, clients: configuration.clientSampling)
    let recentLimit = configuration.recentLineLimit
    latest = recentLimit > 0 ? RecentLines(limit: recentLimit) : nil
    places = try Self.open(destination, configuration)
    usesStandardStreams = destination.usesStandardStreams
  }

  /// Opens all places, each file once.
  private static func open(
    _ destination: Destination, _ configuration: Configuration
  ) throws(RequestLogError) -> [LogPlace] {
    var (places, files) = ([LogPlace](), [System.FileStatus]())
    for place in destination.places {
      let faults = LogFaults(of: place.text, isQuiet: configuration.isQuiet)
      var output = try place.makeOutput(configuration, faults)
      if let file = output.identity {
        guard !files.contains(where: file.isSameFile) else {
          output.close()
          continue
        }
        files.append(file)
      }
      try places.append(LogPlace(to: output, faults, configuration))
    }
    return places
  }

  /// Whether one of its places is standard output or standard error.
  public let usesStandardStreams: Bool

  /// Puts the request's line into the buffer, unless sampling omits it. Never waits.
  public func requestEnded(_ observation: RequestObservation) {
    let severity = observation.severity
    guard filter.keeps(observation, severity: severity) else { return }
    withLine(of: observation) { enqueue($0, severity: severity) }
  }

  package func batchEnded() { for place in places { place.wake() } }

  package func wakeIfRefused() { for place in places { place.wakeIfRefused() } }

  /// Puts a warning into the buffer: the request may never end, and so never get a line of its own. Sampling
  /// does not leave it out, but the limit of a minute does.
  package func requestWaits(_ request: RequestSnapshot) {
    guard filter.keepsWait(at: .now) else { return }
    write(.warn) { encoder.write(request, .waiting, at: .now, to: &$0) }
  }

  /// The lines of requests that wait, as ``requestWaits(_:)`` writes them: the first of them whose lines have
  /// no more bytes than the limit.
  package func lines(of requests: [RequestSnapshot], byteLimit: Int) -> [UInt8] {
    let time = Timestamp.now
    var (bytes, fits) = ([UInt8](), true)
    for request in requests where fits {
      LineWriter.withLine {
        encoder.write(request, .waiting, at: time, to: &$0)
      } _: { line in
        fits = line.count <= byteLimit - bytes.count
        if fits { bytes += line }
      }
    }
    return bytes
  }

  /// Puts a warning into the buffer: the request does not end before the process.
  package func requestIsUnfinished(_ request: RequestSnapshot) {
    write(.warn) { encoder.write(request, .unfinished, at: .now, to: &$0) }
  }

  /// Puts a warning into the buffer: the request was active when a process before this one ended without a
  /// shutdown.
  package func requestWasUnfinished(_ request: RequestSnapshot, of process: BlackBoxContent) {
    write(.warn) { encoder.write(request, of: process, isRunning: false, at: .now, to: &$0) }
  }

  /// The lines of all requests of a black box.
  package static func lines(of process: BlackBoxContent, isRunning: Bool) -> [UInt8] {
    let (encoder, time) = (RequestLineEncoder(Configuration()), Timestamp.now)
    return process.requests.reduce(into: []) { bytes, request in
      LineWriter.withLine {
        encoder.write(request, of: process, isRunning: isRunning, at: time, to: &$0)
      } _: {
        bytes += $0
      }
    }
  }

  /// Does nothing: the request has its line.
  package func unfinishedRequestEnded(_ observation: RequestObservation) {}

  package func requestsAreUnfinished(_ count: Int) {
    warn(
      "session_tap.requests.unfinished", count, "requests more are unfinished than have a line of their own")
  }

  package func queueIsHeld(_ held: HeldQueue, unstarted: Int) {
    let reason =
      held.lacksThreads
      ? "Dispatch has no thread left for any queue, because blocks that do not return have all of them"
      : "something holds the one queue of all sessions, such as a protocol class or a body stream that does "
        + "not return, or a cancelled task that waits for a lock"
    warn(
      "session_tap.queue.held", unstarted, "no URLSession starts or ends a request: \(reason)",
      for: held.duration)
  }

  /// A line of the tap's own about a number of requests.
  private func warn(_ event: StaticString, _ count: Int, _ message: String, for duration: Duration? = nil) {
    write(.warn) { line in
      line.begin(.now, .warn, event: event)
      line.part { line in
        line.member("requests", count)
        line.member("duration_s", nanoseconds: duration?.nanoseconds)
        line.member("message", message, limit: LineLimits.message)
      }
    }
  }

  private func write(_ severity: LogSeverity, _ body: (inout LineWriter) -> Void) {
    LineWriter.withLine(write: body) { enqueue($0, severity: severity) }
  }

  /// Writes a line of the app's own:
  ///
  ///     log.log(.info, "cache warmed", ["entries": 42])
  ///
  /// A line that is logged while a request is served (`TraceContext.current`) has the request's `trace_id`
  /// and `span_id`, unless the fields contain others. Each field becomes a key of the line: at most 64, with
  /// text of at most 1,024 bytes. The keys `timestamp`, `severity`, `event` and `message` are the line's own.
  /// A message is cut at 8,192 bytes. Nothing is redacted. Any thread may call it; it never waits.
  public func log(_ severity: LogSeverity, _ message: String, _ fields: [String: FieldValue] = [:]) {
    let (time, trace) = (Timestamp.now, TraceContext.current)
    write(severity) { line in
      line.begin(time, severity, event: "app")
      line.part { $0.member("message", message, limit: LineLimits.message) }
      if let trace, fields["trace_id"] == nil, fields["span_id"] == nil { line.part { $0.trace(trace) } }
      appFields.write(fields, to: &line)
    }
  }

  /// Calls with the line of a request, its newline included.
  package func withLine(
    of observation: borrowing RequestObservation, _ body: (UnsafeRawBufferPointer) -> Void
  ) {
    LineWriter.withLine(write: { encoder.write(observation, to: &$0) }, body)
  }

  /// Puts a line into the buffers, newline included, or drops one and counts it.
  package func enqueue(_ line: UnsafeRawBufferPointer, severity: LogSeverity) {
    latest?.add(line, severity: severity)
    for place in places { place.enqueue(line, severity: severity) }
  }

  /// The counts of the log: with several places, the sums over them. May be read from any thread.
  package var statistics: LogStatistics {
    var statistics = places.reduce(into: LogStatistics()) { $0.add($1.statistics) }
    statistics.filtered = filter.statistics
    return statistics
  }

  /// The newest lines, oldest first, each with its newline: as many as ``Configuration/recentLineLimit``. A
  /// line is here at once, even if a destination hangs, fails or drops it. Any thread may call it.
  public func recent() -> [UInt8] { recentLines(LogQuery(limit: .max)).bytes }

  /// The newest lines that match, and the number of the newest line.
  package func recentLines(_ query: LogQuery) -> RecentLines.Answer {
    latest?.lines(query) ?? RecentLines.Answer()
  }

  /// Waits until every earlier line is written, or dropped and counted. Blocks the calling thread, which may
  /// be any except that of a ``LogSink``. 0 or less does not wait.
  ///
  /// - Returns: `false` if the limit passed first, as it does while the destination fails, or the deadline of
  ///   a shutdown.
  @discardableResult
  public func flush(within limit: Duration = .seconds(5)) -> Bool {
    let deadline = Instant.now.advanced(by: limit)
    return places.reduce(true) { $1.flush(until: deadline) && $0 }
  }

  /// Writes the queue and closes the destination. Lines that come later, and those not written by the
  /// deadline, are dropped and counted. Blocks the calling thread, which may be any except that of a
  /// ``LogSink``. Of several calls, the earliest deadline ends them all.
  ///
  /// - Returns: Whether every line was written, or dropped and counted before.
  @discardableResult
  public func shutdown(within limit: Duration = .seconds(5)) -> Bool {
    let deadline = Instant.now.advanced(by: limit)
    latest?.close()
    // All at once, so that no place takes another one's time.
    for place in places { place.beginShutdown(until: deadline) }
    return places.reduce(true) { $1.endShutdown(by: deadline) && $0 }
  }
}

public import TapCore

/// Writes one JSON line for each ended request.
///
///     let log = try RequestLog(to: .file("requests.jsonl"))
///     // … as an observer of requests …
///     log.shutdown()
///
/// A line is made on the thread that ends the request, put into a bounded queue, and written by a thread of the
/// log's own. No request waits for a disk. When the destination fails, lines wait in the queue; what does not
/// fit is dropped and counted; and writing goes on by itself when the fault has ended.
public final class RequestLog: RequestObserver {
  private let encoder: RequestLineEncoder
  private let queue: LineQueue

  /// Lines up to this length are made on the stack.
  private static let shortLine = 1_024
  /// URLs up to this length very likely make such a line.
  private static let shortURL = 512

  /// Opens the destination and starts the writer.
  ///
  /// - Throws: ``RequestLogError`` if the file cannot be opened, or no thread can be started.
  public init(
    to destination: Destination, configuration: Configuration = Configuration()
  ) throws(RequestLogError) {
    let limits = configuration.lineLimits
    for key in configuration.fields.keys.sorted() where !ReservedKeys.request.allows(key) {
      throw .reservedField(key)
    }
    encoder = RequestLineEncoder(
      redactor: URLRedactor(allowedQueryKeys: configuration.allowedQueryKeys),
      fields: LineFields(shared: configuration.fields, reserved: .request, limits: limits), limits: limits)
    queue = LineQueue(limits: configuration.queueLimits)
    let writer = LogWriter(queue: queue, output: try destination.makeOutput(configuration))
    do {
      try BackgroundThread.start { writer.run() }
    } catch {
      writer.output.close()
      throw .cannotStartWriter(error)
    }
  }

  deinit {
    // Nobody can flush any more; the writer gets some time by itself.
    queue.beginShutdown(until: System.uptime.advanced(by: .seconds(5)))
  }

  /// Does nothing: a line tells of a request that has ended.
  public func requestStarted(_ request: RequestDescription) {}

  /// Puts the line of the request into the queue. Waits for nothing, unless the policy is to block.
  public func requestEnded(_ observation: RequestObservation) {
    let isLong = observation.request.url.utf8.count > Self.shortURL
    // The compiler gives stack memory for a constant of at most 1 KiB.
    let isDone =
      !isLong
      && withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.shortLine) { memory in
        enqueue(observation, memory: memory, unlessCut: true)
      }
    if isDone { return }
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: encoder.limits.line) { memory in
      _ = enqueue(observation, memory: memory, unlessCut: false)
    }
  }

  @inline(__always)
  private func enqueue(
    _ observation: RequestObservation, memory: UnsafeMutableBufferPointer<UInt8>, unlessCut: Bool
  ) -> Bool {
    guard let base = memory.baseAddress else { return false }
    var line = LineWriter(base, capacity: memory.count)
    encoder.write(observation, to: &line)
    if line.cut > 0, unlessCut { return false }
    queue.enqueue(line.finish(), severity: observation.end.severity)
    return true
  }

  /// What the log has done so far. Safe from any thread.
  public var statistics: LogStatistics { queue.statistics }

  /// Waits until every line that came before is written. Safe from any thread; blocks the calling one.
  ///
  /// - Returns: `false` if the deadline came first, as it does while the destination fails.
  @discardableResult
  public func flush(within limit: Duration = .seconds(5)) -> Bool {
    queue.flush(until: System.uptime.advanced(by: limit))
  }

  /// Writes what is in the queue and closes the destination. Lines that come later, and those not written at the
  /// deadline, are dropped and counted. May be called again, from any thread; blocks the calling one.
  ///
  /// - Returns: Whether every line was written, or had been dropped and counted before.
  @discardableResult
  public func shutdown(within limit: Duration = .seconds(5)) -> Bool {
    queue.shutdown(until: System.uptime.advanced(by: limit))
  }
}

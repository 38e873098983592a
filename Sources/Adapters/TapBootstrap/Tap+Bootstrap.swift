import CoreMetrics
import Instrumentation
public import Logging
public import SessionTap
import Synchronization
import TapLogging
public import TapMetrics
import TapTracing

extension Tap {
  /// Makes this tap the back end of swift-metrics, swift-distributed-tracing and swift-log, for the app and
  /// all of its libraries.
  ///
  ///     let tap = try Tap.start()
  ///     tap.bootstrap()
  ///
  /// Metrics of swift-metrics appear at `/metrics`. Libraries pass on the trace of the served request.
  /// Messages of swift-log go to the request log, with the ids of the trace, and stay on standard error, as
  /// swift-log writes them. They are there once where the log itself goes to standard error or output.
  ///
  /// Each system takes one back end for the life of a process, so call this before anything makes a logger or
  /// a metric. A further call, of any tap, does nothing. If the app has bootstrapped one of the systems
  /// itself, that library ends the process: use `TapMetricsFactory`, `TapInstrument` and `TapLogHandler` one
  /// by one instead.
  ///
  /// - Parameters:
  ///   - logLevel: The least severe level that loggers write by default.
  ///   - keepsStandardError: Whether messages stay on standard error beside a log elsewhere. Without a log
  ///     they do in any case.
  ///   - metricNames: What the metrics of swift-metrics are called.
  ///   - reveals: Whether a value of metadata with such attributes (swift-log's SLG-0004) is logged as it is.
  ///     By default one with attributes is `REDACTED`.
  /// - Returns: Whether this was the first call.
  @discardableResult
  public func bootstrap(
    logLevel: Logger.Level = .info, keepsStandardError: Bool = true,
    metricNames: TapMetricsFactory.Names = .conventional,
    reveals: @escaping @Sendable (Logger.MetadataValueAttributes) -> Bool = { _ in false }
  ) -> Bool {
    guard !isBootstrapped.exchange(true, ordering: .relaxed) else { return false }
    MetricsSystem.bootstrap(TapMetricsFactory(self, names: metricNames))
    InstrumentationSystem.bootstrap(TapInstrument())
    let keeps = requestLog.map { keepsStandardError && !$0.usesStandardStreams } ?? true
    LoggingSystem.bootstrap(
      { [requestLog] label, provider in
        var handler = TapLogHandler(
          label: label, log: requestLog, and: keeps ? StreamLogHandler.standardError(label: label) : nil,
          logLevel: logLevel, metadataProvider: provider)
        handler.reveals = reveals
        return handler
      }, metadataProvider: .trace)
    return true
  }
}

/// Whether a tap is the back end of this process.
private let isBootstrapped = Atomic<Bool>(false)

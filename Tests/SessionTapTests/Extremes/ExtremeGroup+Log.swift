import SessionTap
import TestSupport

/// The log and what is read of it.
extension ExtremeGroup {
  static var logExtremes: [Extreme] {
    func each<Value: Sendable>(
      _ property: String, _ values: Extremes.Values<Value>,
      _ change: @escaping @Sendable (inout RequestLog.Configuration, Value) -> Void
    ) -> [Extreme] {
      Extreme.each(property, values) { change(&$0.configuration.logOptions, $1) }
    }
    let rotation = rotations
    let sampling =
      each("LogSampling.rate", Extremes.doubles) { $0.sampling.rate = $1 }
      + each("LogSampling.slow", Extremes.optional(Extremes.durations)) {
        $0.sampling = LogSampling(rate: 0, slow: $1)
      }
      + each("RequestLog.Configuration.clientSampling", Extremes.lists) { configuration, names in
        for name in names { configuration.clientSampling[name] = LogSampling(rate: 0) }
      }
    let redaction =
      each("LogRedaction.allowedQueryKeys", Extremes.sets) { $0.redaction.allowedQueryKeys = $1 }
      + each("LogRedaction.allowedRequestHeaders", Extremes.sets) { $0.redaction.allowedRequestHeaders = $1 }
      + each("LogRedaction.allowedResponseHeaders", Extremes.sets) {
        $0.redaction.allowedResponseHeaders = $1
      }
    let destinations =
      Extreme.each("RequestLog.Destination.file(_:)", Extremes.strings + [("a folder", ".")]) {
        $0.configuration.log = .file($1)
        $0.logFile = $1
      }
      + Extreme.each(
        "RequestLog.Destination.descriptor(_:)",
        [("Int32.min", .min), ("-1", -1), ("Int32.max", .max)] as Extremes.Values<Int32>
      ) {
        $0.configuration.log = .descriptor($1)
        $0.logFile = ""
      }
    return rotation + sampling + redaction + destinations
      + each("RequestLog.Configuration.batchDelay", Extremes.durations) { $0.batchDelay = $1 }
      + each("RequestLog.Configuration.fields", Extremes.fields) { $0.fields = $1 }
      + each("RequestLog.Configuration.filePermissions", Extremes.integers + [("0o777", 0o777)]) {
        $0.filePermissions = $1
      }
      + each("RequestLog.Configuration.followerLimit", Extremes.integers) {
        $0.followerLimit = $1
        $0.recentLineLimit = 10
      }
      + each("RequestLog.Configuration.knownMethods", Extremes.lists) { $0.knownMethods = $1 }
      + each("RequestLog.Configuration.queueByteLimit", Extremes.integers) { $0.queueByteLimit = $1 }
      + each("RequestLog.Configuration.queueLineLimit", Extremes.integers) { $0.queueLineLimit = $1 }
      + each("RequestLog.Configuration.recentByteLimit", Extremes.integers) {
        $0.recentByteLimit = $1
        $0.recentLineLimit = 10
      }
      + each("RequestLog.Configuration.recentLineLimit", Extremes.integers) { $0.recentLineLimit = $1 }
      + each("RequestLog.Configuration.synchronizationInterval", Extremes.optional(Extremes.durations)) {
        $0.synchronizationInterval = $1
      }
      + each("RequestLog.Configuration.urlLengthLimit", Extremes.integers) { $0.urlLengthLimit = $1 }
  }

  /// With lines enough to rotate, one at a time.
  private static var rotations: [Extreme] {
    func each<Value: Sendable>(
      _ setting: String, _ values: Extremes.Values<Value>, _ make: @escaping @Sendable (Value) -> LogRotation
    ) -> [Extreme] {
      Extreme.each("LogRotation.\(setting)", values) { trial, value in
        trial.configuration.logOptions.rotation = make(value)
        trial.keepsLines = false
        trial.whileRunning = { running in
          for number in 0..<4 {
            running.tap.log(.info, "line \(number)")
            running.tap.requestLog?.flush(within: .seconds(5))
          }
        }
      }
    }
    return each("maximumSize", Extremes.optional(Extremes.integers)) { LogRotation(maximumSize: $0) }
      + each("interval", Extremes.optional(Extremes.durations)) { LogRotation(interval: $0) }
      + each("keep", Extremes.integers) { LogRotation(maximumSize: 1, keep: $0, compresses: true) }
      + each("size(_:keep:compresses:)", Extremes.integers) { .size($0, keep: $0) }
      + each("every(_:keep:compresses:)", Extremes.durations) { .every($0) }
  }

  static var logQueryExtremes: [Extreme] {
    func each<Value: Sendable>(
      _ setting: String, _ values: Extremes.Values<Value>,
      _ use: @escaping @Sendable (RequestLog, Value) async throws -> Void
    ) -> [Extreme] {
      Extreme.each(setting, values) { trial, value in
        trial.configuration.servesLog = true
        trial.whileRunning = { if let log = $0.tap.requestLog { try await use(log, value) } }
      }
    }
    func ask<Value: Sendable>(
      _ setting: String, _ values: Extremes.Values<Value>,
      _ make: @escaping @Sendable (Value) throws -> LogQuery
    ) -> [Extreme] {
      each(setting, values) { log, value in
        let query = try make(value)
        _ = log.recent(query)
        let follower = log.follow(query) {}
        _ = follower?.read()
        follower?.cancel()
      }
    }
    let names = ["limit", "severity", "client", "since", "trace_id"]
    let texts = Extremes.strings + Extremes.integers.map { ($0.name, String($0.value)) }
    let items = names.flatMap { name in
      ask("LogQuery.init(items:)", texts.map { ("\(name): \($0.name)", $0.value) }) {
        try LogQuery(items: [(name, $0)])
      }
    }
    return items
      + ask("LogQuery.init(items:)", Extremes.lists) { try LogQuery(items: $0.map { ($0, $0) }) }
      + ask("LogQuery.limit", Extremes.integers) { LogQuery(limit: $0) }
      + ask("LogQuery.client", Extremes.strings) { LogQuery(client: $0) }
      + ask("LogQuery.traceID", Extremes.strings) { LogQuery(traceID: $0) }
      + ask("Timestamp.nanosecondsSinceEpoch", Extremes.integers) {
        LogQuery(since: Timestamp(nanosecondsSinceEpoch: Int64($0)))
      }
      + each("RequestLog.flush(within:)", Extremes.durations) { $0.flush(within: $1) }
      + each("RequestLog.shutdown(within:)", Extremes.durations) { $0.shutdown(within: $1) }
      + each("RequestLog.log(_:_:_:)", Extremes.strings) { $0.log(.info, $1) }
      + each("RequestLog.log(_:_:_:)", Extremes.fields) { $0.log(.info, "fields", $1) }
  }
}

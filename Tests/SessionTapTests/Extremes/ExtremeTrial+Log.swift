import SessionTap
import TestSupport

/// The table: the log and what is read of it.
extension ExtremeTrial {
  static var log: [Self] {
    /// The log takes the nearest value that works.
    func works<Value: Sendable>(
      _ setting: String, at values: NamedValues<Value>,
      _ change: @escaping @Sendable (inout RequestLog.Configuration, Value) -> Void
    ) -> [Self] {
      start(setting, at: values) {
        $0.refusal = .never
        change(&$0.configuration.logging, $1)
      }
    }
    func each<Owner: Sendable, each Value: Extremal>(
      _ owner: any WritableKeyPath<RequestLog.Configuration, Owner> & Sendable,
      _ settings: repeat (any WritableKeyPath<Owner, each Value> & Sendable)
    ) -> [Self] {
      properties(of: Owner.self, repeat each settings) { setting, changes in
        works(setting, at: changes) { $1(&$0[keyPath: owner]) }
      }
    }
    return table {
      each(
        \.self, \.queueByteLimit, \.recentLineLimit, \.synchronizationInterval)
      each(\.redaction, \.allowedQueryKeys, \.allowedRequestHeaders, \.allowedResponseHeaders)
      each(\.sampling, \.rate)
      rotations
      works("LogSampling.slow", at: Duration?.extremes) { $0.sampling = LogSampling(rate: 0, slow: $1) }
      works("LogSampling.rate", at: Double.extremes) { $0.clientSampling["client"] = LogSampling(rate: $1) }
      works("RequestLog.Configuration.clientSampling", at: [String].extremes) { configuration, names in
        for name in names { configuration.clientSampling[name] = LogSampling(rate: 0) }
      }
      works("RequestLog.Configuration.queueByteLimit", at: Int.extremes) {
        ($0.queueLineLimit, $0.queueByteLimit, $0.recentLineLimit, $0.recentByteLimit) = ($1, $1, $1, $1)
      }
      start("RequestLog.Configuration.fields", at: [String: FieldValue].extremes) { setup, fields in
        let isRefused = fields.count > 64 || fields.keys.contains { $0 == "timestamp" || $0.utf8.count > 256 }
        setup.refusal = isRefused ? .always : .never
        setup.configuration.logging.fields = fields
      }
      // The text of a rule may be anything, too.
      works("LogRedaction.allowedQueryKeys", at: String.extremes) { configuration, text in
        configuration.redaction.custom = { _, _ in text }
      }
      start("RequestLog.Destination.file(_:)", at: String.extremes + [("a folder", ".")]) {
        $0.configuration.log = .file($1)
        $0.logFile = $1
      }
      start("RequestLog.Destination.descriptor(_:)", at: Int32.extremes) {
        $0.configuration.log = .descriptor($1)
        // A shutdown tries until its deadline to write.
        $0.configuration.shutdownTimeout = .milliseconds(20)
        $0.logFile = ""
      }
    }
  }

  /// With lines enough to rotate, one at a time.
  private static var rotations: [Self] {
    func rotate(_ name: String, _ make: @escaping @Sendable (Int) -> LogRotation) -> [Self] {
      start("LogRotation.\(name)", at: Int.extremes) { setup, value in
        (setup.refusal, setup.keepsLines) = (.never, false)
        setup.configuration.logging.rotation = make(value)
      } then: { run in
        for number in 0..<4 {
          run.tap.log(.info, "line \(number)")
          run.tap.requestLog?.flush()
        }
      }
    }
    return table {
      rotate("maximumSize") { LogRotation(maximumSize: $0) }
      rotate("keep") { LogRotation(maximumSize: 1, keep: $0) }
    }
  }

  static var logQueries: [Self] {
    @Sendable func log() throws -> RequestLog {
      let log = try RequestLog(to: .memory)
      log.log(.info, "line")
      return log
    }
    return table {
      // A log ends with its shutdown, however little time there is for it.
      use("RequestLog.flush") { run, limit in
        let log = try log()
        try run.expect(log.flush(within: limit) || limit < .seconds(1), "the log is not flushed")
      }
      use("RequestLog.shutdown") { run, limit in
        let log = try log()
        try run.expect(log.shutdown(within: limit) || limit < .seconds(1), "the log is not shut down")
        try run.expect(log.statistics.pending == 0, "\(log.statistics.pending) lines are pending")
      }
      use("RequestLog.log") { $0.tap.requestLog?.log(.info, $1 as String) }
      use("RequestLog.log") { $0.tap.requestLog?.log(.info, "fields", $1) }
    }
  }
}

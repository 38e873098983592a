import SessionTap
import TestSupport

/// The table: the log.
extension ExtremeTrial {
  @Table static var log: [Self] {
    change(\.logging, \.queueByteLimit, \.recentLineLimit, \.synchronizationInterval)
    change(\.logging.redaction, \.allowedQueryKeys, \.allowedRequestHeaders, \.allowedResponseHeaders)
    change(\.logging.sampling, \.rate, \.slow)
    start("RequestLog.Configuration.queueByteLimit", at: Int.extremes) { setup, limit in
      setup.mayRefuse = false
      (setup.configuration.logging.queueLineLimit, setup.configuration.logging.queueByteLimit) = (
        limit, limit
      )
    }
    start("RequestLog.Configuration.clientSampling", at: [String].extremes) { setup, clients in
      setup.mayRefuse = false
      for client in clients { setup.configuration.logging.clientSampling[client] = LogSampling(rate: 0) }
    }
    start("RequestLog.Configuration.fields", at: [String: FieldValue].extremes) {
      $0.configuration.logging.fields = $1
    }
    start("LogRotation.init", at: Int.extremes) {
      ($0.mayRefuse, $0.configuration.logging.rotation) = (false, LogRotation(maximumSize: $1))
    }
    start("LogRotation.init", at: Int.extremes) {
      ($0.mayRefuse, $0.configuration.logging.rotation) = (false, LogRotation(maximumSize: 1, keep: $1))
    }
    // The text of a rule may be anything, too.
    start("LogRedaction.allowedQueryKeys", at: String.extremes) { setup, text in
      setup.configuration.logging.redaction.custom = { _, _ in text }
    }
    start("RequestLog.Destination.file(_:)", at: String.extremes + [("a folder", ".")]) {
      $0.configuration.log = .file($1)
    }
    start("RequestLog.Destination.descriptor(_:)", at: Int32.extremes) {
      $0.configuration.log = .descriptor($1)
      // A shutdown tries until its deadline to write.
      $0.configuration.shutdownTimeout = .milliseconds(20)
    }
    use("RequestLog.flush") { try memoryLog().flush(within: $1) }
    use("RequestLog.shutdown") { try memoryLog().shutdown(within: $1) }
    use("RequestLog.log") { $0.tap.requestLog?.log(.info, $1 as String) }
    use("RequestLog.log") { $0.tap.requestLog?.log(.info, "fields", $1) }
  }

  private static func memoryLog() throws -> RequestLog {
    let log = try RequestLog(to: .memory)
    log.log(.info, "line")
    return log
  }
}

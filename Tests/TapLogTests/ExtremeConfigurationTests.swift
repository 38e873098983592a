import TapCore
import TapLog
import TestSupport
import Testing

/// One setting of a log at one extreme of its type.
private struct Extreme: Sendable, CustomTestStringConvertible {
  let testDescription: String
  /// Whether the log does not start with it.
  var isRefused = false
  let set: @Sendable (inout RequestLog.Configuration) -> Void

  private typealias Settings<Value> = KeyValuePairs<
    String, @Sendable (inout RequestLog.Configuration, Value) -> Void
  >

  static let all = integers + durations + rates + texts

  private static let integers = extremes(
    [.min, -1, 0, 1, 1 << 46, .max],
    [
      "queueByteLimit": { $0.queueByteLimit = $1 }, "queueLineLimit": { $0.queueLineLimit = $1 },
      "recentLineLimit": { $0.recentLineLimit = $1 }, "recentByteLimit": { $0.recentByteLimit = $1 },
      "all four": {
        ($0.queueByteLimit, $0.queueLineLimit) = ($1, $1)
        ($0.recentByteLimit, $0.recentLineLimit) = ($1, $1)
      },
      "dropOldest of": { ($0.whenFull, $0.queueLineLimit) = (.dropOldest, $1) },
      "followerLimit": { $0.followerLimit = $1 }, "urlLengthLimit": { $0.urlLengthLimit = $1 },
      "filePermissions": { $0.filePermissions = $1 },
      "maximumSize": { $0.rotation = .size($1, compresses: true) },
      "keep": { $0.rotation = .size(1, keep: $1, compresses: true) },
    ])

  /// The least and the most that a `Duration` holds, and that 64 bits hold of seconds. By number, since the description
  /// of the first and the last ends the process.
  static let times: [Duration] = [
    Duration(attoseconds: .min), .seconds(Int64.min), .nanoseconds(-1), .zero, .nanoseconds(1),
    .seconds(Int64.max), Duration(attoseconds: .max),
  ]

  private static let durations = extremes(
    Array(times.indices),
    [
      "batchDelay": { $0.batchDelay = times[$1] },
      "synchronizationInterval": { $0.synchronizationInterval = times[$1] },
      "rotation": { $0.rotation = .every(times[$1]) },
      "slow": { $0.sampling = LogSampling(rate: 0, slow: times[$1]) },
    ])

  private static let rates = extremes(
    [.nan, -.infinity, -1, 0, .leastNonzeroMagnitude, 1.nextDown, 2, .infinity],
    [
      "rate": { $0.sampling.rate = $1 },
      "rate of a client": { $0.clientSampling["payments"] = LogSampling(rate: $1) },
    ])

  private static let long = String(repeating: "x", count: 1 << 20)
  private static let many = (0..<100_000).map { "name-\($0)" }

  private static let texts =
    extremes(
      ["", " ", "\0", "a\0b", long],
      [
        "value": { $0.fields["key"] = .string($1) }, "known method": { $0.knownMethods = [$1] },
        "client": { $0.clientSampling[$1] = LogSampling(rate: 0) },
        "query key": { $0.redaction.allowedQueryKeys = [$1] },
        "request header": { $0.redaction.allowedRequestHeaders = [$1] },
        "response header": { $0.redaction.allowedResponseHeaders = [$1] },
        "rule": { configuration, text in configuration.redaction.custom = { _, _ in text } },
      ])
    + extremes(
      [[], many],
      [
        "known methods": { $0.knownMethods = $1 },
        "query keys": { $0.redaction.allowedQueryKeys = Set($1) },
        "headers": { $0.redaction.allowedRequestHeaders = Set($1) },
        "clients": { $0.clientSampling = Dictionary(uniqueKeysWithValues: $1.map { ($0, LogSampling()) }) },
      ])
    + extremes(["", " ", "\0"], ["key": { $0.fields[$1] = 1 }])
    + [
      Extreme(testDescription: "a long key", isRefused: true) { $0.fields[long] = 1 },
      Extreme(testDescription: "many fields", isRefused: true) { configuration in
        for name in many { configuration.fields[name] = 1 }
      },
      Extreme(testDescription: "64 long fields") { configuration in
        for index in 0..<64 { configuration.fields["\(index)"] = .string(long) }
      },
    ]

  private static func extremes<Value: Sendable>(_ values: [Value], _ settings: Settings<Value>) -> [Extreme] {
    settings.flatMap { setting in
      values.map { value in
        Extreme(testDescription: "\(setting.key) \(String(describing: value).prefix(40).debugDescription)") {
          setting.value(&$0, value)
        }
      }
    }
  }
}

@Suite struct ExtremeConfigurationTests {
  @Test(arguments: Extreme.all)
  fileprivate func `works as the nearest value that does, or is refused at the start`(_ extreme: Extreme)
    throws
  {
    let folder = try TemporaryFolder()
    var configuration = RequestLog.Configuration()
    configuration.recentLineLimit = 10
    extreme.set(&configuration)
    let log: RequestLog
    do throws(RequestLogError) {
      log = try RequestLog(to: .file(folder("requests.jsonl")), configuration: configuration)
    } catch {
      #expect(extreme.isRefused)
      #expect(error.description.utf8.count < 1_000)
      return
    }
    #expect(!extreme.isRefused)
    let follower = log.follow {}
    log.requestEnded(.example)
    log.requestEnded(
      RequestObservation(
        request: RequestDescription(
          direction: .inbound, method: "GET", url: "/orders?token=s3cret", traceContext: .random()),
        start: .now, duration: .zero, end: .cancelled))
    log.requestWaits(RequestObservation.example.request, for: .seconds(60))
    log.log(.error, "message", ["key": "value"])
    #expect(log.shutdown(within: .seconds(60)))
    _ = (log.recent(LogQuery(limit: .max)), log.recent(LogQuery(limit: .min)), follower?.read())
    let statistics = log.statistics
    let filtered = statistics.filteredLines(.sampling) + statistics.filteredLines(.severity)
    // The line that reports those that were dropped comes on top.
    #expect(statistics.lines + statistics.droppedLines + filtered >= 4)
    #expect(statistics.lines > 0)
    #expect(statistics.writeErrors == 0)
    #expect(statistics.pending == 0)
  }

  @Test(arguments: Extreme.times.indices)
  func `is a deadline of a flush and of a shutdown, too`(index: Int) throws {
    let limit = Extreme.times[index]
    let log = try RequestLog(to: .custom(CollectingSink()))
    log.log(.info, "line")
    let isFlushed = log.flush(within: limit)
    let isShort = limit <= .nanoseconds(1)
    #expect(isFlushed || isShort)
    let isShutDown = log.shutdown(within: limit)
    #expect(isShutDown || isShort)
    #expect(log.statistics.pending == 0)
  }

  @Test(arguments: Extreme.times.indices)
  func `is what a request took, too`(index: Int) throws {
    let duration = Extreme.times[index]
    let sink = CollectingSink()
    let log = try RequestLog(to: .custom(sink))
    var request = RequestObservation.example
    (request.duration, request.timeToFirstByte) = (duration, duration)
    log.requestEnded(request)
    log.requestWaits(request.request, for: duration)
    #expect(log.shutdown())
    let most = "\"duration_s\":9223372036.854775807,"
    let expected = duration > .seconds(1) ? most : "\"duration_s\":0"
    #expect(sink.lines.count { $0.contains(expected) } == 2)
  }
}

import Foundation
import SessionTap
import Synchronization

/// The common part of both commands: serves metrics, logs, shows a summary, and ends in order.
struct ObservedRun {
  private let tap: Tap
  private let counter = RequestCounter()

  init(_ options: Options, templates: PathTemplates = []) throws {
    let port = try options.integer("--port", in: 0...65_535) ?? 9464
    let log = try options.text("--log") ?? "off"
    // The option says where to listen; a port from the environment would be waited for too.
    var configuration = Tap.Configuration(
      environment: ProcessInfo.processInfo.environment.filter {
        !$0.key.hasPrefix("OTEL_EXPORTER_PROMETHEUS_")
          && !["SESSION_TAP_HOST", "SESSION_TAP_PORT"].contains($0.key)
      })
    for warning in configuration.warnings { Terminal.say("warning  \(warning)") }
    configuration.exemplars = .all
    configuration.endpoint = Endpoint.Configuration(address: .loopback(port: port))
    configuration.log =
      switch log {
      case "off": nil
      case "-": .standardError
      default: .file(log)
      }
    configuration.observers = [counter]
    // What the page shows of it: the last lines, and those of a trace.
    configuration.servesLog = true
    // The command says so itself.
    configuration.isQuiet = true
    configuration.failsIfAddressInUse = true
    configuration.outbound.pathTemplates = templates
    tap = try Tap.start(configuration)
    // Those of the black box.
    for warning in tap.configuration.warnings.dropFirst(configuration.warnings.count) {
      Terminal.say("warning  \(warning)")
    }
    if let address = tap.address {
      Terminal.say("page     http://\(address)/")
      Terminal.say("metrics  http://\(address)/metrics")
    }
    switch log {
    case "off": Terminal.say("log      in memory, for the page (--log PATH writes a file)")
    case "-": Terminal.say("log      standard error")
    default: Terminal.say("log      \(log)")
    }
  }

  /// Makes requests until the time is over or a signal asks to stop, or until they end, if the run ends with
  /// them.
  ///
  /// - Returns: Whether there were requests, and none was answered with a status below 400. What was
  ///   cancelled does not count, unless it took too long.
  @discardableResult func run(
    atMost duration: Duration?, endsWithRequests: Bool, requests: @escaping @Sendable (Tap) async -> Void
  ) async -> Bool {
    let start = ContinuousClock.now
    // Its closure throws nothing.
    try? await tap.runUntilTerminated { [tap, counter] in
      await withTaskGroup(of: Void.self) { group in
        group.addTask {
          await requests(tap)
          if !endsWithRequests { await Self.pause(for: .seconds(Int32.max)) }
        }
        group.addTask {
          while !Task.isCancelled {
            await Self.pause(for: .seconds(10))
            if !Task.isCancelled { Terminal.say(counter.summary(since: start)) }
          }
        }
        if let duration { group.addTask { await Self.pause(for: duration) } }
        await group.next()
        group.cancelAll()
      }
    }
    // After the shutdown, which delivers the last requests.
    Terminal.say(counter.summary(since: start))
    return counter.allFailed
  }

  /// Says that a request was cancelled, since it took too long.
  func noteTimeout(of url: URL, after time: Duration) {
    counter.noteTimeout()
    let seconds = (time / .seconds(1)).formatted(.number.precision(.fractionLength(0...3)).grouping(.never))
    Terminal.complain("\(url.shown) was not answered within \(seconds) s: cancelled")
  }

  private static func pause(for time: Duration) async { try? await Task.sleep(for: time) }
}

/// Counts requests for the summary line: those that are made, and how many are served.
private final class RequestCounter: RequestObserver {
  private struct Counts {
    var active = 0
    var served = 0
    var timeouts = 0
    var ended: [RequestOutcome: Int] = [:]
    /// Of those that were not cancelled: the sum of what they took, the most, and how the last one ended.
    var (time, longest, last) = (Duration.zero, Duration.zero, "")
  }

  private let counts = Mutex(Counts())

  func requestStarted(_ request: RequestDescription) {
    guard request.direction == .outbound else { return }
    counts.withLock { $0.active += 1 }
  }

  func requestEnded(_ observation: RequestObservation) {
    counts.withLock {
      guard observation.request.direction == .outbound else { return $0.served += 1 }
      $0.active -= 1
      $0.ended[observation.outcome, default: 0] += 1
      if observation.outcome == .cancelled { return }
      $0.time += observation.duration
      $0.longest = max($0.longest, observation.duration)
      $0.last = observation.errorType ?? observation.statusCode.map { "\($0)" } ?? "ok"
    }
  }

  func noteTimeout() { counts.withLock { $0.timeouts += 1 } }

  var allFailed: Bool {
    counts.withLock { counts in
      let ended = counts.ended.filter { $0.key != .cancelled }
      return (!ended.isEmpty || counts.timeouts > 0) && ended[.ok] == nil
    }
  }

  func summary(since start: ContinuousClock.Instant) -> String {
    let counts = counts.withLock { $0 }
    let total = counts.ended.values.reduce(0, +)
    let outcomes = [
      (RequestOutcome.ok, "ok"), (.httpError, "http errors"), (.error, "errors"), (.cancelled, "cancelled"),
    ].map { "\(counts.ended[$0] ?? 0) \($1)" }
    let whole = total - (counts.ended[.cancelled] ?? 0)
    let times =
      whole == 0
      ? []
      : ["mean \(Self.text(counts.time / whole))", "max \(Self.text(counts.longest))", "last \(counts.last)"]
    return
      (["\(start.duration(to: .now).components.seconds) s", "\(total) requests", "\(counts.active) active"]
      + outcomes + times + ["\(counts.served) served"])
      .joined(separator: "  ")
  }

  private static func text(_ time: Duration) -> String {
    let milliseconds = time / .milliseconds(1)
    return
      "\(milliseconds.formatted(.number.precision(.fractionLength(milliseconds < 10 ? 1 : 0)).grouping(.never))) ms"
  }
}

import Synchronization
import TapCore

/// The app's checks for the `/readyz` route, which says whether the app is ready for traffic.
///
///     let readiness = Readiness()
///     readiness.add("database") { await pool.isConnected ? nil : "no connection" }
///
/// Checks may be added and removed from any thread, also while the endpoint runs.
public final class Readiness: Sendable {
  /// A check returns `nil` if the app is ready, else the reason in one line.
  public typealias Check = @Sendable () async -> String?

  private struct State {
    var checks: [String: RunningCheck] = [:]
    var addedCount = 0
  }

  private let state = Mutex(State())

  /// Makes an empty list of checks. Without a check, an app is ready.
  public init() {}

  package init(_ checks: [String: Check]) {
    for (name, check) in checks.sorted(by: { $0.key < $1.key }) { add(name, check) }
  }

  /// Adds a check, or replaces the one with that name.
  ///
  /// Every request of `/readyz` runs all checks at the same time, each in a task of its own. A check never
  /// runs twice at a time: further requests wait for the current run. A check that has not answered shortly
  /// before ``Endpoint/Configuration/Limits/answerTimeout`` has failed, with the reason `has not answered`.
  /// When no request waits for a check any more, its task is cancelled.
  ///
  /// - Parameters:
  ///   - name: the name of the check's line in the answer, and for ``remove(_:)``.
  ///   - check: runs at each request on Swift's threads, so it should be quick and must not block. Every
  ///     client can read its result.
  public func add(_ name: String, _ check: @escaping Check) {
    state.withLock { state in
      state.addedCount += 1
      state.checks[name] = RunningCheck(name, number: state.addedCount, check)
    }
  }

  /// Removes the check with that name.
  public func remove(_ name: String) { state.withLock { $0.checks[name] = nil } }

  /// A line for each check, in the order in which they were added, and whether all is well.
  package func report(within time: Duration) async -> (isReady: Bool, text: String) {
    let checks = state.withLock { $0.checks }.values.sorted { $0.number < $1.number }
    let (answers, answer) = AsyncStream.makeStream(of: (Int, String?).self)
    let requests = checks.enumerated().map { index, check in check.ask { answer.yield((index, $0)) } }
    let limit = Task {
      try await Task.sleep(for: .nanoseconds(time.nanoseconds))
      answer.finish()
    }
    defer {
      limit.cancel()
      for (check, request) in zip(checks, requests) { check.giveUp(request) }
    }
    var reasons = [String?](repeating: "has not answered", count: checks.count)
    for await (index, reason) in answers.prefix(checks.count) { reasons[index] = reason }
    let lines = zip(checks, reasons).map { check, reason in
      "\(Self.line(check.name)): \(reason.map(Self.line) ?? "ok")\n"
    }
    let isReady = reasons.allSatisfy { $0 == nil }
    return (isReady, (isReady ? "ready\n" : "not ready\n") + lines.joined())
  }

  private static func line(_ text: String) -> String {
    String(text.prefix(1000).map { $0.isNewline ? " " : $0 })
  }
}

/// A check that runs once at a time, however many requests wait for its answer.
private final class RunningCheck: Sendable {
  typealias Answer = @Sendable (String?) -> Void

  private struct State {
    var task: Task<Void, Never>?
    var requests: [Int: Answer] = [:]
    var requestCount = 0
  }

  let name: String
  /// Its place in the order of the answer.
  let number: Int
  private let check: Readiness.Check
  private let state = Mutex(State())

  init(_ name: String, number: Int, _ check: @escaping Readiness.Check) {
    (self.name, self.number, self.check) = (name, number, check)
  }

  /// Calls back with the answer, once, unless the request is given up.
  /// - Returns: the number of the request.
  func ask(_ answer: @escaping Answer) -> Int {
    state.withLock { state in
      state.requestCount += 1
      state.requests[state.requestCount] = answer
      if state.task == nil { state.task = run() }
      return state.requestCount
    }
  }

  /// Abandons a request, and cancels the run if no other request waits for it.
  func giveUp(_ request: Int) {
    let task = state.withLock { state in
      state.requests[request] = nil
      return state.requests.isEmpty ? state.task : nil
    }
    task?.cancel()
  }

  private func run() -> Task<Void, Never> { Task { ended(await check()) } }

  private func ended(_ reason: String?) {
    let answers: [Answer] = state.withLock { state in
      if Task.isCancelled, !state.requests.isEmpty {
        // These requests came after the cancellation: the result of a cancelled check is not for them.
        state.task = run()
        return []
      }
      state.task = nil
      defer { state.requests = [:] }
      return Array(state.requests.values)
    }
    for answer in answers { answer(reason) }
  }
}

extension EndpointRoute {
  /// Makes a route that answers `ok` while the process serves.
  package static func liveness() -> EndpointRoute {
    let response = EndpointResponse.text("ok\n")
    return EndpointRoute("/healthz", isPublic: true, .immediate { _ in response })
  }

  /// Makes a route that answers 200 if every check passes, else 503, with a line for each check. A check that
  /// has not answered shortly before the limit of an answer has failed.
  package static func readiness(_ readiness: Readiness) -> EndpointRoute {
    // On Swift's threads, so that an app that holds them all up is not ready.
    let report = EndpointRoute.Handler.deferred { request, complete in
      Task {
        let (isReady, text) = await readiness.report(within: request.answerTime.lessTimeForNetwork)
        complete(.text(text, status: isReady ? 200 : 503))
      }.cancel
    }
    return EndpointRoute("/readyz", isPublic: true, report)
  }
}

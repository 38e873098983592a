import Synchronization

/// Whether an app is ready for traffic: the checks that the app adds, asked by the `/readyz` route.
///
///     let readiness = Readiness()
///     readiness.add("database") { await pool.isConnected ? nil : "no connection" }
///
/// Checks may be added and removed from any thread, while the endpoint runs too.
public final class Readiness: Sendable {
  /// A check returns `nil` if all is well, else the reason in one line.
  public typealias Check = @Sendable () async -> String?

  private let checks = Mutex<[(name: String, check: Check)]>([])

  /// Without a check, an app is ready.
  public init() {}

  /// Adds a check, or replaces the one of that name. Every request of `/readyz` asks all checks at the same
  /// time, each in a task of its own; one that takes longer than the endpoint's answer deadline counts as failed.
  ///
  /// - Parameters:
  ///   - name: stands before the check's line in the answer, and in ``remove(_:)``.
  ///   - check: asked at each request, so it should be quick; what it returns is shown to whoever asks.
  public func add(_ name: String, _ check: @escaping Check) {
    checks.withLock { checks in
      checks.removeAll { $0.name == name }
      checks.append((name, check))
    }
  }

  /// Removes the check of that name.
  public func remove(_ name: String) {
    checks.withLock { $0.removeAll { $0.name == name } }
  }

  /// A line for each check, in the order in which they were added, and whether all is well.
  package func report() async -> (isReady: Bool, text: String) {
    let checks = checks.withLock { $0 }
    let reasons = await withTaskGroup(of: (Int, String?).self) { group in
      for (index, check) in checks.enumerated() { group.addTask { (index, await check.check()) } }
      var reasons = [String?](repeating: nil, count: checks.count)
      for await (index, reason) in group { reasons[index] = reason }
      return reasons
    }
    let lines = zip(checks, reasons).map { check, reason in
      "\(Self.line(check.name)): \(reason.map(Self.line) ?? "ok")\n"
    }
    let isReady = reasons.allSatisfy { $0 == nil }
    return (isReady, (isReady ? "ready\n" : "not ready\n") + lines.joined())
  }

  /// A text that cannot begin a line of its own.
  private static func line(_ text: String) -> String {
    String(text.prefix(1000).map { $0.isNewline ? " " : $0 })
  }
}

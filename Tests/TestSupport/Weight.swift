/// A share of the machine that a test needs for itself. Tests that need the same share wait for each other;
/// all other tests run beside them.
///
///     @Suite(.needs(.browser)) struct PageTests {
///
/// A test with a weight runs on threads of its own, so that it may block and compute: the threads of Swift's
/// tasks are as many as the processors, and tests and handlers of requests need them. The test waits for its
/// share before it is started, where it takes none of the places that Swift Testing has for tests that run.
///
/// A test that starts a process by `processExitsWith` needs one too: until that has ended, and those that
/// were started beside it, Swift Testing blocks the thread that reads what it says.
package struct Weight: TestTrait, SuiteTrait, TestScoping {
  private let semaphore: AsyncSemaphore?

  private init(count: Int?) { semaphore = count.map { AsyncSemaphore(count: $0) } }

  /// A page in the browser that such tests share, which is two or three processes. It waits most of its time:
  /// for scrapes.
  package static let browser = Weight(count: 4)
  /// A Prometheus, which waits most of its time: for scrapes.
  package static let prometheus = Weight(count: 4)
  /// Another program, such as a judge or a process of this package.
  package static let program = Weight(count: 6)
  /// A processor, for seconds.
  package static let processor = Weight(count: ProcessInfo.processInfo.activeProcessorCount)
  /// The one queue on which Foundation drives all sessions of the process.
  package static let sessionQueue = Weight(count: 1)
  /// A thread, to block it.
  package static let thread = Weight(count: nil)

  package var isRecursive: Bool { true }

  /// Around a test function with all its cases, not around a suite or a single case.
  package func scopeProvider(for test: Test, testCase: Test.Case?) -> Weight? {
    test.isSuite || testCase != nil ? nil : self
  }

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    guard let semaphore else { return try await onOwnThreads(function) }
    try await semaphore.run { try await onOwnThreads(function) }
  }

  private func onOwnThreads(_ function: @Sendable () async throws -> Void) async throws {
    try await withTaskExecutorPreference(ThreadExecutor.shared) { try await function() }
  }
}

extension Trait where Self == Weight {
  /// The test needs this share of the machine for itself.
  package static func needs(_ weight: Weight) -> Weight { weight }
}

/// How much the long tests do. They are small at home; where `TESTS_EXTENSIVE` is `1`, they do all they can.
package enum Extent {
  package static let isExtensive = ProcessInfo.processInfo.environment["TESTS_EXTENSIVE"] == "1"

  /// Where `TESTS_ALONE` is `1`, the tests run that need a machine of their own: what they judge is how long
  /// requests take.
  package static let isAlone = ProcessInfo.processInfo.environment["TESTS_ALONE"] == "1"

  /// The rounds, threads or bytes of a test.
  package static func of(_ usual: Int, extensive: Int) -> Int { isExtensive ? extensive : usual }
}

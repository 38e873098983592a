import Foundation
import FoundationNetworking
import Libraries
import SessionTap
import Synchronization
import TapEverySession
import Traffic

/// What an app may do with sessions, configurations, classes and taps.
func edges(at origin: URL) async throws {
  let early = URLSession(configuration: .ephemeral)
  let stock = names(early.configuration)
  let tap = try makeTap()
  // With it comes a session of the tap's own, which is none of the app's.
  _ = tap.sessionConfiguration(client: "explicit")
  expect(
    tap.observeEverySession(client: "app") == .observed(earlierSessions: 1), "the early session is not named")
  var before: [String: Int] = [:]
  /// What was counted since the last call.
  func counted() -> [String: Int] {
    let now = tap.counts()
    defer { before = now }
    return now.filter { $0.value != before[$0.key] }.reduce(into: [:]) {
      $0[$1.key] = $1.value - (before[$1.key] ?? 0)
    }
  }
  func get(_ session: URLSession, _ url: URL? = nil) async throws {
    expect(try await session.data(from: url ?? origin).0.isEmpty == false, "no body")
  }
  let fixture = URL(string: "http://fixture.test/") ?? origin

  try await get(early)
  expect(counted() == [:], "a session of before the tap")

  // The explicit name, once.
  try await get(tap.session(client: "explicit"))
  expect(counted() == ["explicit": 1], "an explicit session")
  let installed = URLSession(configuration: .default)
  tap.install(on: installed, client: "installed")
  try await get(installed)
  expect(counted() == ["installed": 1], "an installed session")
  tap.uninstall(from: installed)
  try await get(installed)
  expect(counted() == [:] && names(installed.configuration) == stock, "an uninstalled session")

  // The app's configuration stays as it is, and a session's may make another session.
  let configuration = URLSessionConfiguration.default
  configuration.httpMaximumConnectionsPerHost = 3
  let session = URLSession(configuration: configuration)
  expect(
    names(configuration) == stock && names(.default) == stock && names(.ephemeral) == stock,
    "a changed configuration")
  expect((configuration.copy() as? URLSessionConfiguration).map(names) == stock, "a changed copy")
  expect(
    session.configuration.httpMaximumConnectionsPerHost == 3 && session.configuration !== configuration,
    "the session's")
  try await get(URLSession(configuration: session.configuration))
  expect(counted() == ["app": 1], "a session of another session's configuration")

  // The app's own classes: before Foundation's, alone, and behind them, where Foundation does not ask them.
  let native = configuration.protocolClasses ?? []
  for (classes, count) in [
    ([FixtureProtocol.self] + native, 2), ([FixtureProtocol.self], 2), (native + [FixtureProtocol.self], 1),
  ] {
    configuration.protocolClasses = classes
    let session = URLSession(configuration: configuration)
    try await get(session, origin)
    if count == 2 { try await get(session, fixture) }
    expect(counted() == ["app": count], "own classes \(classes)")
  }

  // A subclass, and a delegate with its queue.
  let queue = OperationQueue()
  let subclass = SessionSubclass(queue: queue)
  expect(subclass.delegateQueue === queue && subclass.delegate == nil, "the arguments of a subclass")
  try await get(subclass)
  expect(counted() == ["app": 1], "a subclass")

  // Within `canInit`, under Foundation's lock.
  _ = URLSession.shared
  configuration.protocolClasses =
    [NosyProtocol.self] + (URLSessionConfiguration.default.protocolClasses ?? [])
  try await get(URLSession(configuration: configuration))
  guard let nosy = NosyProtocol.made.withLock({ $0 }) else { return expect(false, "canInit made no session") }
  try await get(nosy)
  try await get(.shared)
  expect(counted() == ["app": 3], "sessions within canInit")

  // A function names sessions. One that makes a session itself has an end.
  tap.observeEverySession { configuration in
    _ = URLSession(configuration: .default)
    return configuration.httpAdditionalHeaders?["X-Library"] as? String
  }
  _ = try await Analytics(collector: origin).send([])
  try await get(URLSession(configuration: .default))
  expect(counted() == ["analytics": 1], "names by a function")

  // A second tap, and a push, which no tap observes.
  tap.observeEverySession(client: "app")
  let other = try makeTap()
  let outcome = other.observeEverySession(client: "other")
  if case .observed(let count) = outcome {
    expect(count > 10, "\(count) earlier sessions")
  } else {
    expect(false, "\(outcome)")
  }
  let both = URLSession(configuration: .default)
  try await get(both)
  try await get(tap.session(client: "explicit"))
  try await tap.push(to: PushGateway("\(origin)", job: "edges"))
  expect(counted() == ["app": 1, "explicit": 1] && other.counts() == ["other": 2], "two taps, and a push")

  // After the end of one, and of both, one of them without a shutdown.
  await tap.shutdown()
  try await get(both)
  try await get(URLSession(configuration: .default))
  expect(tap.counts() == before && other.counts() == ["other": 4], "after a tap has ended")
  await other.shutdown()
  do { _ = try makeTap().observeEverySession(client: "released") }
  let ended = try makeTap()
  weak var held: Token?
  do {
    let token = Token()
    held = token
    ended.observeEverySession { _ in token.name }
  }
  await ended.shutdown()
  let late = URLSession(configuration: .default)
  try await get(late)
  expect(names(late.configuration) == stock, "a session after all taps")
  // The next session lets go of it, whether the app keeps the tap or not.
  withExtendedLifetime(ended) { expect(held == nil, "the function of a tap that has ended is kept") }
  print("edges")
}

func names(_ configuration: URLSessionConfiguration) -> [String] {
  (configuration.protocolClasses ?? []).map { "\($0)" }
}

final class SessionSubclass: URLSession, @unchecked Sendable {
  init(queue: OperationQueue) { super.init(configuration: .default, delegate: nil, delegateQueue: queue) }
}

/// Makes a session and takes the shared one in `canInit`, and leaves the request to the next class.
final class NosyProtocol: URLProtocol {
  static let made = Mutex<URLSession?>(nil)

  override class func canInit(with request: URLRequest) -> Bool {
    made.withLock { $0 = $0 ?? URLSession(configuration: .ephemeral) }
    return URLSession.shared.delegate != nil
  }
}

/// Thirty threads that start at once, each with the shared session, for the first time in the process, and
/// with one of its own.
///
/// The function that names the sessions waits for another thread, which makes a session too: it is called
/// without a lock.
func threads(at url: URL) async throws {
  let tap = try makeTap()
  tap.observeEverySession { configuration in
    if configuration.httpAdditionalHeaders?["X-Inner"] != nil { return nil }
    let made = DispatchSemaphore(value: 0)
    Thread {
      let inner = URLSessionConfiguration.ephemeral
      inner.httpAdditionalHeaders = ["X-Inner": "yes"]
      _ = URLSession(configuration: inner)
      made.signal()
    }.start()
    return made.wait(timeout: .now() + 60) == .success ? "app" : "a function that waits for a lock"
  }
  let (count, start, all) = (30, DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
  for _ in 0..<count {
    Thread {
      start.wait()
      for session in [URLSession.shared, URLSession(configuration: .default)] {
        session.dataTask(with: url) { _, _, _ in all.signal() }.resume()
      }
    }.start()
  }
  for _ in 0..<count { start.signal() }
  await Task.detached { wait(2 * count, for: all) }.value
  expect(tap.counts() == ["app": 2 * count], "\(tap.counts())")
  print("threads")
}

private func wait(_ count: Int, for semaphore: DispatchSemaphore) {
  for _ in 0..<count { expect(semaphore.wait(timeout: .now() + 60) == .success, "no response within 60 s") }
}

/// A library that is loaded while the program runs.
func plugin(_ path: String, at url: URL) throws {
  let tap = try makeTap()
  tap.observeEverySession(client: "app")
  guard let library = dlopen(path, RTLD_NOW), let symbol = dlsym(library, "fetch") else {
    return expect(false, String(cString: dlerror()))
  }
  let fetch = unsafeBitCast(symbol, to: (@convention(c) (UnsafePointer<CChar>) -> Int32).self)
  expect(fetch(url.absoluteString) == 200, "the plugin's request")
  expect(tap.counts() == ["app": 1], "\(tap.counts())")
  print("plugin")
}

/// What an app's function holds.
private final class Token: Sendable {
  let name = "ended"
}

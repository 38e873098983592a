import SessionTap
import TestSupport

/// An app that makes and serves requests of all kinds, some of which end, and dies: in the midst of it, or
/// when only those are active that nobody ends. What it does, it writes into a file first and last: that file
/// knows what may be active and what must be.
///
///     b ID    is about to begin     B ID    has begun
///     e ID    is about to end       E ID    has ended
///     x RUN   is about to exit
final class BlackBoxVictim: Sendable {
  private let tap: Tap
  private let session: URLSession
  private let port: Int
  /// Begins all ids.
  private let run: String
  private let events: Int32
  private let ending = DispatchGroup()
  private let kept = Mutex<[(ActiveRequest, RawClient?)]>([])

  init(port: Int, folder: String, run: String) throws {
    var configuration = Tap.Configuration()
    configuration.endpoint = nil
    configuration.log = .file(folder + "/log.jsonl")
    configuration.isQuiet = true
    tap = try Tap.start(configuration)
    let stock = URLSessionConfiguration.ephemeral
    stock.httpMaximumConnectionsPerHost = 256
    session = tap.session(client: "victim", configuration: stock)
    (self.port, self.run) = (port, run)
    events = open("\(folder)/events-\(run)", O_WRONLY | O_CREAT | O_APPEND, 0o600)
  }

  func shutDown() async { await tap.shutdown() }

  private func note(_ event: Character, _ id: String) {
    let line = Array("\(event) \(id)\n".utf8)
    _ = line.withUnsafeBytes { write(events, $0.baseAddress, $0.count) }
  }

  /// Begins the requests, spread over some time. Prints a line: an empty one first, or, once the others have
  /// ended, the ids of those that stay active.
  func live(isHeld: Bool) throws -> Never {
    if !isHeld { tell([]) }
    let count = Int.random(in: 1...(isHeld ? .random(in: 1...250) : 200))
    let time = Int.random(in: 0...(isHeld ? 100_000 : 300_000))
    var active: [String] = []
    for number in 0..<count {
      active += try begin("\(run)-\(number)", number == 0 ? "silent" : Self.kinds.randomElement() ?? "silent")
      usleep(UInt32(time / count))
    }
    if isHeld {
      ending.wait()
      tell(active)
    }
    while true { pause() }
  }

  private func tell(_ ids: [String]) {
    FileHandle.standardOutput.write(Data((ids.joined(separator: " ") + "\n").utf8))
  }

  private static let kinds = [
    "silent", "head", "body", "stream", "upload", "within", "other", "quick", "cancel", "told",
  ]

  /// Begins a request, or two. Returns the ids of those that nobody ends.
  private func begin(_ id: String, _ kind: String) throws -> [String] {
    switch kind {
    case "quick":
      send(kind, id, ends: true)
      return []
    case "cancel":
      let task = send(kind, id, ends: true)
      after { [self] in
        note("e", id)
        task?.cancel()
      }
      return []
    case "told":
      ending.enter()
      let request = observe(id) {
        Bool.random()
          ? tap.inbound.begin(method: "GET", path: "/told/\(id)")
          : tap.outbound.begin(client: "other", method: "GET", url: "http://app.example/told/\(id)")
      }
      after { [self] in
        note("e", id)
        request.end(statusCode: 200)
        note("E", id)
        ending.leave()
      }
      return []
    case "within":
      // The server knows the served request by the one that it makes.
      let served = "\(id)s"
      let request = observe(served) { tap.inbound.begin(method: "PUT", path: "/served/\(served)") }
      kept.withLock { $0.append((request, nil)) }
      _ = TraceContext.$current.withValue(request.trace) { send(kind, id) }
      return [served, id]
    case "other":
      let request = observe(id) {
        tap.outbound.begin(client: kind, method: "GET", url: "http://127.0.0.1:\(port)/\(kind)/\(id)")
      }
      let client = try RawClient(port: port, asking: "/\(kind)/\(id)")
      kept.withLock { $0.append((request, client)) }
    case "body":
      send(kind, id) { [session] request, done in
        session.downloadTask(with: request) { done(nil, $1, $2) }
      }
    case "upload":
      send(kind, id, method: "POST") { [session] in
        session.uploadTask(with: $0, from: Data(count: 4_000_000), completionHandler: $1)
      }
    default: send(kind, id, method: kind == "silent" ? "DELETE" : "GET")
    }
    return [id]
  }

  private func observe(_ id: String, begin: () -> ActiveRequest) -> ActiveRequest {
    note("b", id)
    defer { note("B", id) }
    return begin()
  }

  private typealias Done = @Sendable (Data?, URLResponse?, (any Error)?) -> Void

  @discardableResult
  private func send(
    _ kind: String, _ id: String, method: String = "GET", ends: Bool = false,
    make: ((URLRequest, @escaping Done) -> URLSessionTask)? = nil
  ) -> URLSessionTask? {
    guard let url = URL(string: "http://127.0.0.1:\(port)/\(kind)/\(id)") else { return nil }
    var request = URLRequest(url: url)
    request.httpMethod = method
    if ends { ending.enter() }
    note("b", id)
    let done: Done = { [self] _, _, _ in
      note("E", id)
      if ends { ending.leave() }
    }
    let task = make?(request, done) ?? session.dataTask(with: request, completionHandler: done)
    task.resume()
    return task
  }

  private func after(_ body: @escaping @Sendable () -> Void) {
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(.random(in: 0...100)), execute: body)
  }

  /// Ends the process once a line has come, within so many microseconds.
  func die(_ end: String, within time: UInt32) {
    _ = readLine()
    usleep(.random(in: 0...time))
    switch end {
    case "fault": UnsafeMutablePointer<Int>(bitPattern: 8)?.pointee = 1
    case "trap": fatalError("as asked")
    case "abort": abort()
    case "exit":
      // It goes on for a moment after it has told.
      note("x", run)
      exit(1)
    case "_exit": _exit(1)
    case "limit":
      var limit = rlimit(rlim_cur: 1 << 20, rlim_max: 1 << 20)
      setrlimit(__rlimit_resource_t(9), &limit)  // RLIMIT_AS: no more memory.
      fillMemory()
    case "memory": fillMemory()
    default: kill(getpid(), SIGKILL)
    }
  }

  private func fillMemory() {
    while true { memset(UnsafeMutableRawPointer.allocate(byteCount: 1 << 20, alignment: 16), 1, 1 << 20) }
  }
}

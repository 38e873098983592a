import SessionTap
import TestSupport

/// An app that makes and serves requests of all kinds, some of which end, and dies in the midst of it. What
/// it does, it writes into a file first and last: that file knows what may be active and what must be.
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
  private let kept = Mutex<[ActiveRequest]>([])

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

  /// Begins the requests, spread over some time. The process dies meanwhile, or later.
  func live() {
    var generator = SystemRandomNumberGenerator()
    let count = Int.random(in: 1...200, using: &generator)
    let time = Int.random(in: 0...300_000, using: &generator)
    for number in 0..<count {
      begin("\(run)-\(number)", kind: Int.random(in: 0..<10, using: &generator))
      usleep(UInt32(time / count))
    }
    while true { pause() }
  }

  private func begin(_ id: String, kind: Int) {
    switch kind {
    case 0: send("head", id) { self.session.dataTask(with: $0, completionHandler: $1) }
    case 1:
      send("body", id) { request, done in
        self.session.downloadTask(with: request) { done(nil, $1, $2) }
      }
    case 2:
      send("upload", id) { request, done in
        var request = request
        request.httpMethod = "POST"
        return self.session.uploadTask(
          with: request, from: Data(count: 4_000_000), completionHandler: done)
      }
    case 3, 4: send("quick", id) { self.session.dataTask(with: $0, completionHandler: $1) }
    case 5:
      let task = send("head", id) { self.session.dataTask(with: $0, completionHandler: $1) }
      after { [self] in
        note("e", id)
        task?.cancel()
      }
    case 6, 7:
      note("b", id)
      let request = tap.inbound.begin(method: "GET", path: "/in/\(id)")
      note("B", id)
      keep(request, id, ends: kind == 7)
    case 8:
      note("b", id)
      let request = tap.outbound.begin(client: "other", method: "GET", url: "http://app.example/out/\(id)")
      note("B", id)
      keep(request, id, ends: Bool.random())
    default:
      // Within a served request.
      let served = tap.inbound.begin(method: "GET", path: "/uncounted")
      kept.withLock { $0.append(served) }
      TraceContext.$current.withValue(served.trace) {
        _ = send("head", id) { self.session.dataTask(with: $0, completionHandler: $1) }
      }
    }
  }

  private typealias Done = @Sendable (Data?, URLResponse?, (any Error)?) -> Void

  @discardableResult
  private func send(
    _ path: String, _ id: String, make: (URLRequest, @escaping Done) -> URLSessionTask
  ) -> URLSessionTask? {
    guard let url = URL(string: "http://127.0.0.1:\(port)/\(path)/\(id)") else { return nil }
    note("b", id)
    let task = make(URLRequest(url: url)) { [self] _, _, _ in note("E", id) }
    task.resume()
    return task
  }

  private func keep(_ request: ActiveRequest, _ id: String, ends: Bool) {
    kept.withLock { $0.append(request) }
    guard ends else { return }
    after { [self] in
      note("e", id)
      request.end(statusCode: 200)
      note("E", id)
    }
  }

  private func after(_ body: @escaping @Sendable () -> Void) {
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(.random(in: 0...100)), execute: body)
  }

  /// Ends the process, at a moment that nobody knows.
  func die(_ end: String) {
    // Another process ends it.
    if end == "wait" { return }
    usleep(.random(in: 0...400_000))
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

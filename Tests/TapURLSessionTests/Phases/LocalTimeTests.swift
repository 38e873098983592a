import Synchronization
import TapCore
import TestSupport
import Testing

@testable import TapURLSession

/// Whose time it was: the server's, or that of this process, whose sessions share one queue.
@Suite struct LocalTimeTests {
  /// Who holds the queue.
  enum Holder: String, CaseIterable, Sendable {
    case nobody, sameSession, anotherSession
  }

  /// The response arrives while the queue is held: the server sends it only then, and the queue is let go after that.
  @Test(.needs(.sessionQueue), arguments: Holder.allCases, [false, true])
  func `a response that lies unread is not the server's time`(holder: Holder, isUpload: Bool) async throws {
    let (arrived, answers, answered) = (Gate(), Gate(), Gate())
    let held = 100
    let hold = QueueHold(milliseconds: held, from: answers, answered)
    let origin = try Origin { _ in
      [.signal(arrived), .hold(answers), .response(body: [1, 2, 3]), .signal(answered)]
    }
    let observer = RecordingObserver()
    let tap = URLSessionTap(observers: [observer])
    let base = URLSessionConfiguration.ephemeral
    base.protocolClasses = [HoldingProtocol.self] + (base.protocolClasses ?? [])
    let session = URLSession(configuration: tap.sessionConfiguration(from: base, client: "test"))
    let other = URLSession(configuration: base)
    defer {
      session.invalidateAndCancel()
      other.invalidateAndCancel()
    }
    var request = URLRequest(url: origin.url("/measured"))
    if isUpload {
      request.httpMethod = "POST"
      request.httpBody = Data([1, 2, 3])
    }
    session.dataTask(with: request) { _, _, _ in }.resume()
    try await arrived.wait()
    if holder == .nobody {
      answers.open()
    } else {
      (holder == .sameSession ? session : other).dataTask(with: hold.url) { _, _, _ in }.resume()
    }
    let observation = try await observer.ended(pathEnding: "/measured")
    let phases = observation.timings
    if isUpload, observation.isSentAgain { return #expect(phases[.processing] == nil) }
    #expect(observation.phaseSum == observation.elapsed, "\(phases)")
    let local = try #require(phases[nanoseconds: .local])
    let precision = TCPInfo.resolution * 1_000
    if let answered = hold.answered {
      #expect(local >= Int64(held) * 1_000_000 - precision, "\(phases)")
      // The server had answered by then.
      let before = answered - observation.start.nanosecondsSinceEpoch + precision
      #expect(try #require(phases[nanoseconds: .processing]) <= before)
      #expect(try #require(observation.elapsedToFirstByte) <= before)
    }
    #expect((hold.answered == nil) == (holder == .nobody))
    #expect(phases[.processing] != nil && phases[.transfer] != nil && phases[.queue] == nil)
  }

  /// A process that is stopped while the server answers gets no processor at all. The server stops it, so that it knows when.
  @Test(.needs(.program), .enabled(if: Tool.isUsable("python3"), "python3 is not installed"))
  func `a process that gets no processor has taken the time itself`() async {
    await #expect(processExitsWith: .success) {
      alarm(100)
      let server = try ChildProcess(
        Tool("python3").url,
        [
          "-c",
          """
          import os, signal, socket, time
          client = os.getppid()
          def state(): return open(f"/proc/{client}/stat").read().rpartition(")")[2].split()[0]
          listener = socket.create_server(("127.0.0.1", 0))
          print(f"port {listener.getsockname()[1]}.", flush=True)
          connection = listener.accept()[0]
          connection.recv(65536)
          time.sleep(0.03)
          os.kill(client, signal.SIGSTOP)
          while state() != "T": pass
          connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 1\\r\\n\\r\\nx")
          time.sleep(0.15)
          os.kill(client, signal.SIGCONT)
          connection.recv(1)
          """,
        ])
      try await server.waitForOutput(".\n")
      let port = server.output.split(separator: ".").first?.split(separator: " ").last ?? ""
      let observer = RecordingObserver()
      let tap = URLSessionTap(observers: [observer])
      let session = URLSession(configuration: tap.sessionConfiguration(from: .ephemeral, client: "test"))
      let url = try #require(URL(string: "http://127.0.0.1:\(port)/"))
      _ = try await session.data(from: url)
      try await observer.waitForEnds(1)
      let observation = try #require(observer.ended.first)
      let phases = observation.timings
      // The kernel's clock, and the tick by which it is late where a machine has more to do than it can.
      let precision = 2 * TCPInfo.resolution * 1_000
      #expect(try #require(phases[nanoseconds: .local]) >= 150_000_000 - precision, "\(phases)")
      #expect(try #require(phases[nanoseconds: .processing]) >= 30_000_000 - precision, "\(phases)")
      #expect(observation.phaseSum == observation.elapsed)
      server.send(SIGKILL)
      try await server.waitForExit()
    }
  }
}

/// Holds the queue on which Foundation drives all sessions, from within a protocol class of the app's own: until a server has
/// answered another request, and some time more.
///
/// All of it happens on that queue. A test that let it go could come too late: tasks of other tests wait for the queue, and take
/// the threads of Swift's tasks.
final class QueueHold: Sendable {
  let url: URL
  private let milliseconds: Int
  private let answers: Gate
  private let isAnswered: Gate
  private let state = Mutex<Int64?>(nil)
  private static let holds = Mutex<[String: QueueHold]>([:])

  /// - Parameters:
  ///   - answers: Opened when the queue is held.
  ///   - isAnswered: Opened by the server then.
  init(milliseconds: Int, from answers: Gate, _ isAnswered: Gate) {
    self.milliseconds = milliseconds
    self.answers = answers
    self.isAnswered = isAnswered
    let host = "hold-\(UUID().uuidString.lowercased())"
    url = URL(string: "hold://\(host)/") ?? URL(fileURLWithPath: "/")
    Self.holds.withLock { $0[host] = self }
  }

  /// When the server had answered, in nanoseconds since 1970. `nil` if the queue was never held.
  var answered: Int64? { state.withLock { $0 } }

  fileprivate static func named(_ host: String?) -> QueueHold? {
    holds.withLock { holds in host.flatMap { holds.removeValue(forKey: $0) } }
  }

  fileprivate func hold() {
    answers.open()
    isAnswered.waitBlocking()
    state.withLock { $0 = Timestamp.now.nanosecondsSinceEpoch }
    _ = DispatchSemaphore(value: 0).wait(timeout: .now() + .milliseconds(milliseconds))
  }
}

/// Takes the requests of ``QueueHold``.
final class HoldingProtocol: URLProtocol {
  override class func canInit(with request: URLRequest) -> Bool { request.url?.scheme == "hold" }
  override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

  override func startLoading() {
    QueueHold.named(request.url?.host)?.hold()
    client?.urlProtocol(self, didFailWithError: URLError(.unsupportedURL))
  }

  override func stopLoading() {}
}

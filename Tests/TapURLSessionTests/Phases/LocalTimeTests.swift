import TestSupport

@testable import TapURLSession

/// Whose time it was: the server's, or that of this process, whose sessions share one queue.
struct LocalTimeTests {
  enum Holder: String, CaseIterable, Sendable { case nobody, sameSession, anotherSession }

  /// The response arrives while the queue is held: the server sends it only then, and the queue is let go
  /// after that.
  @Test(.needs(.sessionQueue), arguments: Holder.allCases, [false, true])
  func `a response that lies unread is not the server's time`(holder: Holder, isUpload: Bool) async throws {
    var answered: Int64?
    let observation = try await RequestObservation.sentOnce {
      let made = try await Self.observe(holder, isUpload: isUpload)
      answered = made.heldUntil
      return [made.observation]
    }[0]
    let phases = observation.timings
    #expect(observation.phaseSum == observation.elapsed, "\(phases)")
    let local = try #require(phases[nanoseconds: .local])
    let precision = TCPInfo.resolution
    if let answered {
      #expect(local >= Int64(Self.held) * 1_000_000 - precision, "\(phases)")
      // The server had answered by then.
      let before = answered - observation.start.nanosecondsSinceEpoch + precision
      #expect(try #require(phases[nanoseconds: .processing]) <= before)
      #expect(try #require(observation.elapsedToFirstByte) <= before)
    }
    #expect((answered == nil) == (holder == .nobody))
    #expect(phases[.processing] != nil && phases[.transfer] != nil && phases[.queue] == nil)
  }

  /// For how long the queue is held once the server has answered, in milliseconds.
  private static let held = 100

  /// Makes a request. Returns when the server had answered it, if the queue was held then.
  private static func observe(
    _ holder: Holder, isUpload: Bool
  ) async throws -> (observation: RequestObservation, heldUntil: Int64?) {
    let (arrived, goOn, answered) = (Gate(), Gate(), Gate())
    let heldUntil = Mutex<Int64?>(nil)
    let hold = QueueHold.url {
      goOn.open()
      answered.waitBlocking()
      heldUntil.withLock { $0 = Timestamp.now.nanosecondsSinceEpoch }
      _ = DispatchSemaphore(value: 0).wait(timeout: .now() + .milliseconds(Self.held))
    }
    let origin = try Origin { _ in
      [.signal(arrived), .hold(goOn), .response(body: [1, 2, 3]), .signal(answered)]
    }
    let (tap, observer) = URLSessionTap.observed()
    let base = URLSessionConfiguration.ephemeral(with: QueueHold.self)
    let (session, other) = (tap.session(base), URLSession(configuration: base))
    defer { for one in [session, other] { one.invalidateAndCancel() } }
    let request = with(URLRequest(url: origin.url("/measured"))) {
      if isUpload { ($0.httpMethod, $0.httpBody) = ("POST", Data([1, 2, 3])) }
    }
    session.dataTask(with: request) { _, _, _ in }.resume()
    try await arrived.wait()
    if holder == .nobody {
      goOn.open()
    } else {
      (holder == .sameSession ? session : other).dataTask(with: hold) { _, _, _ in }.resume()
    }
    return (try await observer.ended(pathEnding: "/measured"), heldUntil.withLock { $0 })
  }

  /// A process that is stopped while the server answers gets no processor at all. The server stops it, so
  /// that it knows when.
  @Test(.needs(.program), .enabled(if: Tool.isUsable("python3"), "python3 is not installed"))
  func `a process that gets no processor has taken the time itself`() async {
    await #expect(processExitsWith: .success) {
      let (server, port) = try await ChildProcess.python(
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
        deadline = time.monotonic() + 120
        while state() != "T": assert time.monotonic() < deadline, "the client is not stopped"
        connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 1\\r\\n\\r\\nx")
        time.sleep(0.15)
        os.kill(client, signal.SIGCONT)
        connection.recv(1)
        """)
      let (tap, observer) = URLSessionTap.observed()
      let session = tap.session()
      let url = try #require(URL(string: "http://127.0.0.1:\(port)/"))
      _ = try await session.data(from: url)
      let observation = try await observer.end()
      let phases = observation.timings
      // The kernel's clock, and the tick by which it is late where a machine has more to do than it can.
      let precision = 2 * TCPInfo.resolution
      #expect(try #require(phases[nanoseconds: .local]) >= 150_000_000 - precision, "\(phases)")
      #expect(try #require(phases[nanoseconds: .processing]) >= 30_000_000 - precision, "\(phases)")
      #expect(observation.phaseSum == observation.elapsed)
      server.send(SIGKILL)
      try await server.waitForExit()
    }
  }
}

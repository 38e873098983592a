import TestSupport

@testable import TapURLSession

/// The server resets each connection at its second request, so libcurl sends that again on a new one.
struct ResendTests {
  /// Of requests that are sent again.
  private static let count = Extent.of(5, extensive: 25)

  @Test(arguments: [0, 20])
  func `a dead connection is no wait for one`(delay: Int) async throws {
    let seen = Mutex<Set<String>>([])
    let origin = try Origin { request in
      let isFirst = seen.withLock { $0.insert(request.path).inserted }
      return request.path.hasSuffix("b") && isFirst ? [.think(delay), .reset] : [.response(body: [1])]
    }
    try await Self.run("http://127.0.0.1:\(origin.port)", delay)
  }

  @Test(
    .serialized, .needs(.program), .usesFrontServer,
    .enabled(if: Tool.isUsable("python3"), "python3 is not installed"), arguments: [0, 20])
  func `over TLS neither`(delay: Int) async throws {
    try await TrustedCertificate.prepare()
    try ExitValues.give("ResendTests", delay)
    await #expect(processExitsWith: .success) {
      let delay = try ExitValues.take("ResendTests", Int.self)
      let (server, port) = try await ChildProcess.python(
        """
        import socket, ssl, struct, sys, threading, time
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1], sys.argv[2])
        listener = socket.create_server(("127.0.0.1", 0))
        print(f"port {listener.getsockname()[1]}.", flush=True)
        seen = set()
        def serve(plain):
          connection = context.wrap_socket(plain, server_side=True)
          while True:
            head = b""
            while b"\\r\\n\\r\\n" not in head:
              data = connection.recv(65536)
              if not data: return
              head += data
            path = head.split()[1]
            if path.endswith(b"b") and path not in seen:
              seen.add(path)
              time.sleep(float(sys.argv[3]) / 1000)
              connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
              socket.socket.close(connection)
              return
            connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 1\\r\\n\\r\\nx")
        while True: threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
        """, TrustedCertificate.certificate, TrustedCertificate.key, "\(delay)")
      try await ResendTests.run("https://127.0.0.1:\(port)", delay)
      server.send(SIGKILL)
      try await server.waitForExit()
    }
  }

  private static func run(_ server: String, _ delay: Int) async throws {
    let (tap, observer) = URLSessionTap.observed()
    let session = tap.session()
    for number in 0..<count {
      for half in ["a", "b"] {
        _ = try await session.data(from: #require(URL(string: "\(server)/\(number)\(half)")))
      }
    }
    if server.hasPrefix("https") { session.keep() } else { session.finishTasksAndInvalidate() }
    try await observer.waitForEnds(2 * count)
    let again = observer.ended.filter { $0.request.url.hasSuffix("b") }
    #expect(again.count == count)
    for observation in again {
      #expect(observation.openedConnections == 1)
      #expect(observation.timings[.queue] ?? .zero <= .milliseconds(1), "\(observation.timings)")
      let resend = try #require(observation.timeToResend)
      #expect(resend >= .milliseconds(delay))
      // What was spent on the dead connection is no phase, and all else is one.
      #expect(observation.phaseSum <= observation.elapsed - resend.nanoseconds)
      #expect(observation.resendCount == 0)
    }
    #expect(observer.ended.allSatisfy { ($0.timeToResend != nil) == $0.request.url.hasSuffix("b") })
  }
}

extension ChildProcess {
  /// Starts a server in Python that says `port N.` when it listens there.
  fileprivate static func python(
    _ script: String, _ arguments: String...
  ) async throws -> (server: ChildProcess, port: String) {
    let server = try ChildProcess(Tool("python3").url, ["-c", script] + arguments)
    try await server.waitForOutput(".\n")
    return (server, String(server.output.prefix { $0 != "." }.dropFirst(5)))
  }
}

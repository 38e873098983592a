import SessionTap
import TestSupport

/// What a tap promises beside an app that blocks the threads, descriptors and system calls that they share.
/// Each in a process of its own.
@Suite(.needs(.program)) struct SurroundingsTests {
  /// What waits with a deadline or an interval.
  enum Wait: Codable, CaseIterable { case flush, shutdown, address, push }

  /// Blocks every thread that Dispatch gives to the classes below the default, and to the one above.
  private static func blockGlobalQueues() {
    let never = DispatchSemaphore(value: 0)
    for qos in [DispatchQoS.QoSClass.background, .utility, .userInitiated] {
      for _ in 0..<600 { DispatchQueue.global(qos: qos).async { never.wait() } }
    }
  }

  /// A daemon may start without standard streams. What it prints, or a child that it starts, must not reach
  /// the log or the port.
  @Test func `no file or socket is a standard stream, or goes to a child`() async {
    await #expect(processExitsWith: .success) {
      let folder = try TemporaryFolder()
      for descriptor in 0...2 { close(Int32(descriptor)) }
      let tap = try Tap.start(.test(log: .file(folder("requests.jsonl"))))
      tap.inbound.begin(method: "GET", path: "/").end(statusCode: 200)
      #expect(await tap.flush(within: .seconds(60)))
      let sockets = try OpenDescriptors.on { $0.hasPrefix("socket:") }.filter { descriptor in
        var (listens, size) = (Int32(0), socklen_t(4))
        getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size)
        return listens == 1
      }
      let own = try sockets + OpenDescriptors.on(folder("requests.jsonl"))
      #expect(own.count == 2)
      for descriptor in own {
        #expect(descriptor > 2 && fcntl(descriptor, F_GETFD) & FD_CLOEXEC == FD_CLOEXEC)
      }
      await tap.shutdown()
    }
  }

  /// It is looked up again once a second. Of the log RefusedFilesTests tell.
  @Test func `the path of a secret is of the directory at the start`() async throws {
    await #expect(processExitsWith: .exitCode(7)) {
      let folder = try TemporaryFolder()
      let manager = FileManager.default
      for name in ["first", "second"] {
        try manager.createDirectory(atPath: folder(name), withIntermediateDirectories: false)
      }
      try folder.write("old", to: "first/secret")
      #expect(manager.changeCurrentDirectoryPath(folder("first")))
      let tap = try Tap.start(.test { $0.endpoint?.access.bearerTokenFile = "secret" })
      #expect(manager.changeCurrentDirectoryPath(folder("second")))
      try folder.write("new", to: "first/secret")
      try await Poll.until("the new secret") {
        try await tap.get("/metrics", fields: "Authorization: Bearer new\r\n").hasPrefix("HTTP/1.1 200 ")
      }
      await tap.shutdown()
      exit(7)
    }
  }

  @Test(.serialized, arguments: Wait.allCases)
  func `what waits does not wait for the app's blocks`(wait: Wait) async throws {
    try ExitValues.give("SurroundingsTests.1", wait)
    await #expect(processExitsWith: .exitCode(7)) {
      let wait = try ExitValues.take("SurroundingsTests.1", Wait.self)
      var configuration = Tap.Configuration.test(log: .memory) {
        ($0.shutdownTimeout, $0.addressRetryInterval) = (.seconds(50), .milliseconds(10))
        // Of 127.0.0.0/8 one that nothing else has: a port that is given up is nobody else's then.
        $0.endpoint?.address = .tcp(host: "127.0.0.78", port: 0)
      }
      let first = try Tap.start(configuration)
      configuration.endpoint?.address = try #require(first.address)
      Self.blockGlobalQueues()
      first.inbound.begin(method: "GET", path: "/").end(statusCode: 200)
      switch wait {
      case .flush:
        #expect(await first.flush(within: .seconds(50)))
        #expect(first.requestLog?.statistics.lines == 1)
      case .shutdown:
        await first.shutdown()
        #expect(first.requestLog?.statistics.lines == 1)
      case .address:
        let second = try Tap.start(configuration)
        await first.shutdown()
        _ = try await Poll.until("the address") { second.address }
      case .push:
        let never = Gate()
        let gateway = try Origin { _ in [.hold(never)] }
        let target = try PushGateway("http://127.0.0.1:\(gateway.port)", job: "test")
        let error = await #expect(throws: TapError.self) {
          try await first.push(to: target, within: .milliseconds(100))
        }
        #expect(error?.description.contains("does not answer in time") == true)
      }
      exit(7)
    }
  }

  /// That is when a person wants to see what the page has.
  @Test func `the endpoint serves while the app blocks Swift's threads and Dispatch's others`() async {
    await #expect(processExitsWith: .success) {
      let tap = try Tap.start(
        .test {
          $0.servesLog = true
          $0.endpoint?.limits.answerTimeout = .seconds(5)
        })
      tap.log(.info, "here")
      tap.inbound.begin(method: "GET", path: "/users/42").end(statusCode: 200, route: "/users/{id}")
      #expect(tap.requestLog?.flush() == true)
      let port = tap.address?.port ?? 0
      // More than their pools have threads, of each class.
      for qos in [DispatchQoS.background, .utility, .default, .userInitiated, .userInteractive] {
        let global = DispatchQueue.global(qos: qos.qosClass)
        for _ in 0..<600 { global.async { Gate().waitBlocking() } }
        // The endpoint's own class, as the article says.
        if qos == .utility { continue }
        for _ in 0..<300 { DispatchQueue(label: "blocked", qos: qos).async { Gate().waitBlocking() } }
      }
      for _ in 0..<64 { Task { Gate().waitBlocking() } }
      let contents = [
        "/healthz": "ok", "/": "<html", "/logs": "here", "/metrics": "# TYPE", "/why": "All is well",
        "/page/history": #"http_route=\"/users/{id}\""#,
      ]
      for (path, content) in contents {
        // On this thread: there is no other.
        let answer = try RawClient(port: port).getBlocking(path)
        #expect(
          answer.hasPrefix("HTTP/1.1 200 ") && answer.contains(content), "\(path): \(answer.prefix(99))")
      }
      #expect(!tap.registry.text.contains("history"))
      exit(0)
    }
  }

  /// Swift's threads that are blocked.
  private static let blocked = Atomic(0)

  @Test func `a shutdown closes the log though no await returns`() async throws {
    await #expect(processExitsWith: .exitCode(7)) {
      let tap = try Tap.start(.test(log: .memory) { $0.shutdownTimeout = .milliseconds(100) })
      let never = Gate()
      Thread.detachNewThread {
        // All of Swift's threads.
        while Self.blocked.load(ordering: .relaxed) < ProcessInfo.processInfo.activeProcessorCount {
          sched_yield()
        }
        Task(executorPreference: ThreadExecutor.shared) { await tap.shutdown() }
        while tap.requestLog?.statistics.droppedLines(.shutdown) == 0 { tap.log(.info, "too late") }
        exit(7)
      }
      await withDiscardingTaskGroup { group in
        for _ in 0..<100 {
          group.addTask {
            Self.blocked.wrappingAdd(1, ordering: .relaxed)
            never.waitBlocking()
          }
        }
      }
    }
  }

  @Test func `a signal ends a process that has no free descriptor in order`() async throws {
    let folder = try TemporaryFolder()
    try ExitValues.give("SurroundingsTests.2", folder("requests.jsonl"))
    await #expect(processExitsWith: .exitCode(7)) {
      let path = try ExitValues.take("SurroundingsTests.2", String.self)
      let tap = try Tap.start(.test(log: .file(path)))
      var limit = rlimit(rlim_cur: 256, rlim_max: 256)
      setrlimit(__rlimit_resource_t(7), &limit)  // RLIMIT_NOFILE
      let run = Task { await tap.runUntilTerminated() }
      try await waitForHandler(of: SIGTERM)
      // Not before: a process that has none for a second is ended by Dispatch, which looks at its threads in
      // /proc (`_dispatch_workq_monitor_pools`).
      while dup(2) >= 0 {}
      tap.inbound.begin(method: "GET", path: "/last").end(statusCode: 200)
      kill(getpid(), SIGTERM)
      await run.value
      exit(7)
    }
    #expect(try folder.lines("requests.jsonl").contains { $0.contains("\"url.path\":\"/last\"") })
  }

  @Test func `signals that interrupt the calls of every thread change nothing`() async throws {
    let folder = try TemporaryFolder()
    try ExitValues.give("SurroundingsTests.3", folder("requests.jsonl"))
    await #expect(processExitsWith: .exitCode(7)) {
      let path = try ExitValues.take("SurroundingsTests.3", String.self)
      var action = sigaction()
      action.__sigaction_handler.sa_handler = { _ in }
      sigaction(SIGUSR1, &action, nil)
      let symbol = try #require(dlsym(nil, "tgkill"))
      let send = unsafeBitCast(symbol, to: (@convention(c) (Int32, Int32, Int32) -> Int32).self)
      let tap = try Tap.start(.test(log: .file(path)))
      let run = Task { await tap.runUntilTerminated() }
      try await waitForHandler(of: SIGTERM)
      for round in 0..<100 {
        tap.inbound.begin(method: "GET", path: "/\(round)").end(statusCode: 200)
        for thread in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task") {
          if let id = Int32(thread) { _ = send(getpid(), id, SIGUSR1) }
        }
        if round.isMultiple(of: 20) { #expect(await tap.flush(within: .seconds(50))) }
      }
      #expect(try await tap.get("/metrics").contains("} 100"))
      kill(getpid(), SIGTERM)
      await run.value
      exit(tap.requestLog?.statistics.lines == 100 ? 7 : 1)
    }
    #expect(try folder.lines("requests.jsonl").count == 100)
  }
}

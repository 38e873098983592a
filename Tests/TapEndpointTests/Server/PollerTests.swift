import TestStart
import TestSupport

@testable import TapEndpoint

@Suite struct PollerTests {
  /// Both watch a socket that nobody reads. What the second one is told 20 times, the first hears once.
  @Test func `each call ends the watch, and nothing that is not ready is reported`() async throws {
    let (queue, pipe, calls) = (DispatchQueue(label: "pollers"), Pipe(), EventQueue<String>())
    let socket = pipe.fileHandleForReading.fileDescriptor
    nonisolated(unsafe) let (first, second) = (try Poller(), try Poller())
    for poller in [first, second] { try poller.add(socket, 7, .input) }
    #expect(first.ready().isEmpty)
    queue.sync {
      first.begin(on: queue) { calls.send("first") }
      second.begin(on: queue) { [weak second] in
        calls.send("second")
        second?.watch(true)
      }
    }
    pipe.fileHandleForWriting.write(Data([1]))
    var told: [String: Int] = [:]
    while told["first"] == nil || told["second"] ?? 0 < 20 {
      told[try await calls.next("a call"), default: 0] += 1
    }
    #expect(told["first"] == 1)
    queue.sync { for poller in [first, second] { poller.close {} } }
  }

  /// Dispatch goes on with a record that may be freed by then, so none of its records may be that of a
  /// client's socket. No test can have the one thread lose the processor between two instructions. So this
  /// looks at what the kernel says of who watches what.
  @Test(.needs(.program)) func `Dispatch watches no socket`() async {
    await #expect(processExitsWith: .success) {
      let body = [UInt8](repeating: 120, count: 4_000_000)
      let routes = [EndpointRoute.immediate("/large") { _ in EndpointResponse(status: 200, body: body) }]
      try await withEndpoint(routes: routes) { port in
        let clients = try (0..<3).map { _ in try RawClient(host: "127.0.0.1", port: port) }
        // Its answer does not fit, so that both directions of the socket are waited for.
        clients[0].send("GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
        let watched = try await Poll.until("three connections, the listener, and one that waits to be read") {
          let polls = try EventPolls()
          return polls.sockets.count == 4 && polls.sockets.contains { $0.events & 4 != 0 } ? polls : nil
        }
        #expect(watched.socketsOfDispatch == [])
        // Nor goes any to a child.
        for descriptor in watched.instances + watched.sockets.map(\.descriptor) {
          #expect(fcntl(Int32(descriptor), F_GETFD) & FD_CLOEXEC == FD_CLOEXEC)
        }
        for client in clients { client.reset() }
        try await Poll.until("the listener alone") { try EventPolls().sockets.count == 1 }
      }
    }
  }

  /// Until then the listener is ready all the time, and is not watched: else the queue would not rest.
  @Test(.needs(.program)) func `a client that finds no descriptor is served when there is one`() async {
    await #expect(processExitsWith: .success) {
      // Nothing but the lack has the deadlines checked.
      try await withEndpoint(routes: [.liveness()], limits: { $0.idleTimeout = .seconds(3_600) }) { port in
        refuse_connections(-1)
        let first = try RawClient(port: port, asking: "/healthz")
        try await Poll.until("the listener not to be watched") {
          let sockets = try EventPolls().sockets
          return sockets.count == 1 && sockets.allSatisfy { $0.events & 1 == 0 }
        }
        refuse_connections(0)
        #expect(await first.receive(until: "ok\n").hasSuffix("ok\n"))
        // An idle connection gives its descriptor to the next one.
        refuse_connections(1)
        let second = try RawClient(port: port, asking: "/healthz")
        #expect(await first.receiveAll().text == "")
        #expect(await second.receive(until: "ok\n").hasSuffix("ok\n"))
      }
    }
  }
}

/// What the epoll(7) instances of this process watch, as proc_pid_fdinfo(5) has it.
private struct EventPolls {
  /// The sockets in the instances that another one watches.
  var sockets: [(descriptor: Int, events: Int)] = []
  /// These instances.
  var instances: [Int] = []
  /// The sockets in all others.
  var socketsOfDispatch: [Int] = []

  init() throws {
    let polls = try OpenDescriptors.on("anon_inode:[eventpoll]").map { Int($0) }
    let open = Set(try OpenDescriptors.on { $0.hasPrefix("socket:") }.map { Int($0) })
    var watched: [Int: [(descriptor: Int, events: Int)]] = [:]
    for poll in polls {
      let info = try String(contentsOfFile: "/proc/self/fdinfo/\(poll)", encoding: .utf8)
      // tfd:        9 events:       19 data: …
      watched[poll] = info.split(separator: "\n").map { $0.split(separator: " ") }.compactMap { words in
        guard words.count > 3, words[0] == "tfd:", let descriptor = Int(words[1]) else { return nil }
        return Int(words[3], radix: 16).map { (descriptor, $0) }
      }
    }
    let nested = Set(watched.values.joined().map(\.descriptor)).intersection(polls)
    instances = Array(nested)
    for (poll, entries) in watched {
      let entries = entries.filter { open.contains($0.descriptor) }
      if nested.contains(poll) { sockets += entries } else { socketsOfDispatch += entries.map(\.descriptor) }
    }
  }
}

import TapEndpoint
import TestSupport

@Suite struct HangUpTests {
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
        for client in clients { client.reset() }
        try await Poll.until("the listener alone") { try EventPolls().sockets.count == 1 }
      }
    }
  }
}

/// What the epoll(7) instances of this process watch, as proc_pid_fdinfo(5) has it.
private struct EventPolls {
  /// The sockets in the instances that another one watches.
  var sockets: [(descriptor: Int, events: Int)] = []
  /// Those in all others.
  var socketsOfDispatch: [Int] = []

  init() throws {
    let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int($0) }
    let polls = open.filter { Self.target($0) == "anon_inode:[eventpoll]" }
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
    for (poll, entries) in watched {
      let entries = entries.filter { Self.target($0.descriptor)?.hasPrefix("socket:") == true }
      if nested.contains(poll) { sockets += entries } else { socketsOfDispatch += entries.map(\.descriptor) }
    }
  }

  private static func target(_ descriptor: Int) -> String? {
    try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
  }
}

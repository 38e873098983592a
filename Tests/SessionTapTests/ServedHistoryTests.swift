import SessionTap
import TestSupport

@Suite struct ServedHistoryTests {
  @Test func `the page has what ended just before, of both directions`() async throws {
    let tap = try Tap.start(.test())
    tap.outbound.begin(client: "search", method: "GET", url: "https://search.example.com:8443/").end(
      statusCode: 200)
    tap.inbound.begin(method: "GET", path: "/users/42").end(statusCode: 200, route: "/users/{id}")
    let text = try await tap.get("/page/history")
    #expect(text.hasPrefix("HTTP/1.1 200 ") && text.contains("\r\nCache-Control: no-store\r\n"))
    #expect(text.contains("\r\nContent-Type: application/json\r\n"))
    let labels = [
      #"client=\"search\",http_request_method=\"GET\",http_response_status_code=\"200\","#
        + #"server_address=\"search.example.com\",server_port=\"8443\""#,
      #"http_request_method=\"GET\",http_response_status_code=\"200\",http_route=\"/users/{id}\""#,
    ]
    for (side, labels) in zip(["made", "served"], labels) {
      #expect(text.contains(#"{"side":"\#(side)","labels":"\#(labels)"}"#), "\(text)")
    }
    // It adds nothing to the metrics.
    #expect(!tap.registry.text.contains("history"))
    await tap.shutdown()
  }

  /// That is when a person wants to see it. In a process of its own, since other tests need the threads.
  @Test(.needs(.program))
  func `the endpoint serves while the app blocks Swift's threads and Dispatch's others`() async {
    await #expect(processExitsWith: .success) {
      let tap = try Tap.start(
        .test {
          $0.servesLog = true
          $0.endpoint?.limits.answerTimeout = .seconds(5)
        })
      tap.log(.info, "here")
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
        ("/healthz", "ok"), ("/", "<html"), ("/page/history", #""slot_s":5"#), ("/logs", "here"),
        ("/metrics", "# TYPE"),
      ]
      for (path, content) in contents {
        // On this thread: there is no other.
        let answer = try RawClient(port: port).getBlocking(path)
        #expect(
          answer.hasPrefix("HTTP/1.1 200 ") && answer.contains(content), "\(path): \(answer.prefix(99))")
      }
      exit(0)
    }
  }
}

import TestSupport

@testable import TapCore

/// What a black box has of a request, at each moment of its life.
@Suite struct BlackBoxTests {
  private let folder: TemporaryFolder
  private let recorder: RequestRecorder

  init() throws {
    folder = try TemporaryFolder(isInMemory: true)
    let box = try BlackBox(
      BlackBoxFile(path: folder("requests")), serviceName: "",
      writeURL: { url, _, target in
        target.copyBytes(from: url.utf8)
        return url.utf8.count
      }, report: { _ in })
    recorder = try RequestRecorder(registry: Registry(), consumers: [], blackBox: box)
  }

  /// Such as `GET /a handler`, oldest first.
  private var requests: [String] {
    get throws {
      let content = try #require(try BlackBoxFile.read(path: folder("requests")).content)
      #expect(content.tornCount == 0)
      return content.requests.map { snapshot in
        [
          snapshot.request.method, snapshot.request.url, snapshot.request.urlTemplate,
          snapshot.wait?.rawValue, snapshot.statusCode.map { "\($0)" },
        ].compactMap { $0 }.joined(separator: " ")
      }
    }
  }

  private func make(_ url: String) -> RequestRecord {
    RequestRecord(RequestDescription(client: "c", method: "GET", url: url), recorder: recorder)
  }

  @Test func `a request of URLSession's from its resume to its end, in whatever order these come`() throws {
    let before = Timestamp.now.nanosecondsSinceEpoch
    let whole = make("/whole")
    #expect(try requests == ["GET /whole start"])
    // What has not begun is told since its resume, by the clock, which may have been set by a little.
    let start = try #require(try BlackBoxFile.read(path: folder("requests")).content?.requests.first?.start)
    #expect(start.nanosecondsSinceEpoch > before - 1_000_000_000)
    whole.begin()
    #expect(try requests == ["GET /whole"])
    whole.begin()
    whole.end(.response(statusCode: 200))
    whole.end(.cancelled)
    #expect(try requests == [])
    // Given up before its begin, which may come all the same.
    let late = make("/late")
    late.end(.cancelled)
    #expect(try requests == [])
    late.begin()
    #expect(try requests == ["GET /late"])
    late.end(.cancelled)
    #expect(try requests == [])
    var released: RequestRecord? = make("/released")
    recorder.drain()
    #expect(try requests == ["GET /released start"])
    released = nil
    #expect(try requests == [])
    _ = released
    whole.begin()
    #expect(try requests == [])
  }

  @Test func `a request of the app's, what it waits for, and its route once that is known`() throws {
    let served = recorder.inbound.begin(method: "GET", path: "/users/42", scheme: "http")
    #expect(try requests == ["GET /users/42 handler"])
    let other = recorder.inbound.begin(method: "PUT", path: "/other", route: "/{name}")
    let made = recorder.outbound.begin(
      client: "c", method: "POST", url: "http://host/x", trace: served.trace.child())
    #expect(
      try requests == ["GET /users/42 request", "PUT /other /{name} handler", "POST http://host/x response"])
    made.responseBegan(statusCode: 201)
    #expect(
      try requests == ["GET /users/42 request", "PUT /other /{name} handler", "POST http://host/x body 201"])
    made.end(statusCode: 201)
    served.responseBegan(statusCode: 200, route: "/users/{id}")
    #expect(try requests == ["GET /users/42 /users/{id} client 200", "PUT /other /{name} handler"])
    served.end(statusCode: 200)
    other.cancel()
    #expect(try requests == [])
    // Their places have nothing of them.
    let next = (0..<3).map { recorder.inbound.begin(method: "GET", path: "/\($0)") }
    #expect(try requests == ["GET /0 handler", "GET /1 handler", "GET /2 handler"])
    for request in next { request.cancel() }
  }

  @Test func `threads that begin and end requests while the file is read`() throws {
    let requests = Mutex<[String]>([])
    DispatchQueue.concurrentPerform(iterations: 4) { thread in
      for number in 0..<Extent.of(200, extensive: 2_000) {
        let url = "http://host/\(thread)/\(number)/" + String(repeating: "\(thread)", count: 150)
        let request = recorder.outbound.begin(client: "c\(thread)", method: "GET", url: url)
        if number % 50 == 0, let content = try? BlackBoxFile.read(path: folder("requests")).content {
          let urls = content.requests.map { $0.request.client + " " + $0.request.url }
          requests.withLock { $0 += urls }
        }
        request.end(statusCode: 200)
      }
    }
    // Each is of one request.
    let urls = requests.withLock { $0 }
    #expect(!urls.isEmpty)
    #expect(
      urls.allSatisfy { text in
        let thread = String(text.dropFirst().prefix(1))
        return text.hasPrefix("c\(thread) http://host/\(thread)/")
          && text.hasSuffix(String(repeating: thread, count: 150))
      })
    recorder.drain()
    #expect(try self.requests == [])
  }
}

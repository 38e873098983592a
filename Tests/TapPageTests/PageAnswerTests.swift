import TapEndpoint
import TestSupport

@testable import TapPage

/// What the page is, and what it reads of requests that wait, without a browser.
struct PageAnswerTests {
  @Test(arguments: [("/", "text/html"), ("/page.css", "text/css"), ("/page.js", "text/javascript")])
  func `no file of the page is kept, framed or open to other sites`(path: String, type: String) async throws {
    let answer = try await PageContent.answer(to: path)
    let headers = answer.headers.fields.map { "\($0.name): \($0.value)" }
    let policy =
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; "
      + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    #expect(
      headers == [
        "Content-Type: \(type); charset=utf-8", "Cache-Control: no-store", "X-Content-Type-Options: nosniff",
        "Vary: Accept-Encoding", "Content-Security-Policy: \(policy)", "X-Frame-Options: DENY",
        "Referrer-Policy: no-referrer", "Cross-Origin-Opener-Policy: same-origin",
        "Cross-Origin-Resource-Policy: same-origin",
        "Permissions-Policy: camera=(), geolocation=(), microphone=()",
      ])
  }

  @Test func `lets nothing run but its own script`() async throws {
    let document = String(decoding: try await PageContent.answer(to: "/").body, as: UTF8.self)
    #expect(document.contains("\n<body data-log=\"no\">\n"))
    // No script, handler or style within the document, and no resource that is not the endpoint's.
    #expect(document.matches(of: /<style|<script>|\s(?:style|on[a-z]+)="/).isEmpty)
    let resources = document.matches(of: /<(?:link|script|img)[^>]* (?:src|href)="([^"]*)"/).map { $0.1 }
    #expect(resources == ["data:,", "page.css", "page.js"])
    for path in ["/page.css", "/page.js"] {
      let file = String(decoding: try await PageContent.answer(to: path).body, as: UTF8.self)
      #expect(file.matches(of: /https?:\/\/(?!www\.w3\.org)/).isEmpty)
    }
  }

  @Test(arguments: ["/", "/page.css", "/page.js"])
  func `travels compressed, where that is accepted`(path: String) async throws {
    let identity = try await PageContent.answer(to: path)
    #expect(identity.headers["Content-Encoding"] == nil)
    let gzip = try await PageContent.answer(to: path, accepting: "gzip, deflate, br, zstd")
    #expect(gzip.headers["Content-Encoding"] == "gzip")
    #expect(gzip.body.count <= 27_000, "\(gzip.body.count)")
    #expect(try await Tool("gzip").run(["-dc"], input: gzip.body).bytes == identity.body)
    for other in ["br", "gzip;q=0", "identity, gzip;q=0.5"] {
      #expect(try await PageContent.answer(to: path, accepting: other).body == identity.body, "\(other)")
    }
  }

  @Test func `are kept for a second, and of a few questions only`() {
    let (answers, start) = (PageAnswers(), Instant.now)
    var written: [String] = []
    func ask(_ question: String, after time: Duration) -> [UInt8] {
      answers.bytes(for: question, at: start.advanced(by: time)) {
        written.append(question)
        return question
      }
    }
    let questions = (0..<20).map { "\($0)" }
    for time in [Duration.zero, .milliseconds(999), .seconds(1)] {
      for question in questions { #expect(ask(question, after: time) == Array(question.utf8)) }
    }
    // Sixteen are kept.
    #expect(written == questions + questions.suffix(4) + questions)
  }

  private final class Source: RequestProgressSource {
    let progress: RequestProgress

    init(_ progress: RequestProgress) { self.progress = progress }

    func look(then done: @escaping @Sendable () -> Void) { done() }
  }

  private static func recorder(made: Duration?, served: Duration?) throws -> RequestRecorder {
    try RequestRecorder(
      registry: Registry(), outbound: with(RequestConfiguration()) { $0.waitingLimit = made },
      inbound: with(RequestConfiguration()) { $0.waitingLimit = served }, consumers: [])
  }

  private static func json(_ recorder: RequestRecorder, at now: Instant) -> String {
    String(decoding: PageWaits(recorder).json(at: now), as: UTF8.self)
  }

  @Test func `has what is known of a wait in either direction, and no address`() throws {
    let recorder = try Self.recorder(made: .seconds(1), served: .milliseconds(2_500))
    let (start, time) = (Instant.now, Timestamp(nanosecondsSinceEpoch: 1_763_717_400_123_456_789))
    let activity = start.advanced(by: .seconds(30))
    let source = Source(
      with(RequestProgress(wait: .body, statusCode: 206, lastActivity: activity)) {
        ($0.requestBodySize, $0.responseBodySize) = (7, 4_000)
      })
    let made = RequestRecord(
      RequestDescription(
        client: "payments", method: "BREW", url: "https://a/42", serverAddress: "a", serverPort: 443,
        urlTemplate: "/users/{id}"), recorder: recorder, progress: source)
    let served = RequestRecord(
      RequestDescription(
        direction: .inbound, client: "none", method: "GET", url: "/42", serverAddress: "b", serverPort: 80,
        urlTemplate: "/carts/{id}"), recorder: recorder, progress: source)
    let later = start.advanced(by: .seconds(1))
    made.begin(at: start, time: time)
    served.begin(at: later, time: time)
    let known =
      #""waiting_for":"body","idle_s":12.0,"http.request.body.size":7,"http.response.body.size":4000"#
    let lines = [
      #""event":"http.client.request.waiting","client.name":"payments","http.request.method":"_OTHER","#
        + #""url.template":"/users/{id}","server.address":"a","server.port":443,"#
        + #""http.response.status_code":206,"duration_s":42.0,"#,
      #""event":"http.server.request.waiting","http.request.method":"GET","http.route":"/carts/{id}","#
        + #""http.response.status_code":206,"duration_s":41.0,"#,
    ]
    let oldest = zip([start, later], lines).map { start, line in
      #"{"id":"\#(start.nanoseconds)","start_us":1763717400123456,"hangs":true,"#
        + #""words":"waits for the rest of the response","why":"The head has come, and the body is not complete.","#
        + #""line":{\#(line)\#(known)}}"#
    }
    let json = Self.json(recorder, at: start.advanced(by: .seconds(42)))
    let head = #"{"count":2,"oldest":["#
    #expect(json == "\(head)\(oldest.joined(separator: ","))]}\n")
    withExtendedLifetime((made, served)) {}
  }

  @Test func `has nothing of a direction whose waits are not reported`() throws {
    let recorder = try Self.recorder(made: nil, served: .seconds(1))
    let made = recorder.outbound.begin(client: "c", method: "GET", url: "https://a/")
    let json = Self.json(recorder, at: Instant.now.advanced(by: .seconds(60)))
    let expected = #"{"count":0,"oldest":[]}"#
    #expect(json == expected + "\n")
    withExtendedLifetime(made) {}
  }

  @Test func `says what URLSession has not started, and that its queue is held`() throws {
    let recorder = try Self.recorder(made: .seconds(1), served: nil)
    let taken = (0..<3).map { _ in
      RequestRecord(RequestDescription(client: "payments", method: "GET"), recorder: recorder)
    }
    recorder.watch(QueueProbe(compare: { _ in }) { _ in })
    // The first look puts the question.
    _ = Self.json(recorder, at: .now)
    let now = Instant.now.advanced(by: .seconds(60))
    let json = Self.json(recorder, at: now)
    #expect(json.hasPrefix(#"{"count":3,"#), "\(json)")
    #expect(json.ranges(of: #""words":"waits to be started""#).count == 3)
    let text = Diagnosis(Evidence(recorder, at: now)).text
    #expect(
      text.hasPrefix("URLSession has not started 3 requests of `payments` since ")
        && text.contains("Dispatch has no thread left"), "\(text)")
    withExtendedLifetime(taken) {}
  }

  @Test func `lists the oldest hundred, and none that is exempt`() throws {
    let driver = try RequestDriver(registry: Registry()) {
      ($0.waitingLimit, $0.waitingExemptions) = (.milliseconds(1), ["events"])
    }
    func begin(_ count: Int, client: String) {
      for number in 0..<count {
        driver.requestStarted(
          RequestDescription(
            client: client, method: "GET", url: "https://a/secret/\(number)", serverAddress: "a",
            serverPort: 443, urlTemplate: "/{\(number)}"))
      }
    }
    begin(3, client: "events")
    begin(150, client: "payments")
    let later = Instant.now.advanced(by: .seconds(1))
    // Those that have ended are gone.
    driver.requestEnded(
      RequestObservation(
        request: RequestDescription(client: "payments", method: "GET", serverAddress: "a", serverPort: 443),
        start: .now, duration: .zero, end: .cancelled))
    let waits = PageWaits(driver.recorder)
    func json(after time: Duration) -> String {
      String(decoding: waits.json(at: later.advanced(by: time)), as: UTF8.self)
    }
    let text = json(after: .zero)
    #expect(
      text.hasPrefix("{\"count\":149,\"oldest\":[{") && !text.contains("secret"))
    #expect(text.matches(of: /"url.template":"\/{(\d+)}"/).map { Int($0.1) } == Array(1...100))
    #expect(Set(text.matches(of: /"id":"(\d+)"/).map { $0.1 }).count == 100)
    // Those that ask within a second share the answer.
    begin(1, client: "payments")
    #expect(json(after: .milliseconds(900)) == text)
    #expect(json(after: .seconds(1)).contains("\"count\":150,"))
  }
}

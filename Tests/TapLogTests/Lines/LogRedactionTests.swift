import TapLog
import TestSupport

@Suite(.needs(.thread)) struct LogRedactionTests {
  private var observation: RequestObservation {
    var observation = RequestObservation.example.with(
      url: "https://s3cret:s3cret@a.example/users/path-s3cret;sid=s3cret/x?t=s3cret&page=2&s3cret#s3cret")
    observation.request.headers = ["Authorization": "Bearer s3cret", "Accept": "a/b"]
    observation.responseHeaders = ["Set-Cookie": "sid=s3cret", "Server": "x"]
    return observation
  }

  private func line(_ redaction: LogRedaction, fields: [String: FieldValue] = [:]) throws -> String {
    try line(redaction, of: observation.with(fields: fields))
  }

  private func line(_ redaction: LogRedaction, of observation: RequestObservation) throws -> String {
    try #require(lines(of: observation, configuration: with(.init()) { $0.redaction = redaction }).first)
  }

  @Test func `do not reach the log by default, the path apart`() throws {
    let line = try line(LogRedaction())
    #expect(
      line.contains(
        #""url.full":"https://a.example/users/path-s3cret;sid=REDACTED/x?t=REDACTED&page=REDACTED&REDACTED""#
      ))
    #expect(line.components(separatedBy: "s3cret").count == 2)
    #expect(!line.contains("header"))
  }

  @Test func `stay out of the headers that are allowed`() throws {
    var redaction = LogRedaction()
    redaction.allowedPaths = []
    redaction.allowedRequestHeaders = ["ACCEPT", "accept", "X-Missing", "A-Missing"]
    redaction.allowedResponseHeaders = ["server", "SERVER", "Server"]
    let twice = with(observation) {
      $0.responseHeaders["server"] = "y"
      // As long as one that is allowed.
      $0.request.headers["X-Secrets"] = "s3cret"
    }
    let line = try line(redaction, of: twice)
    #expect(line.hasSuffix(#","http.request.header.accept":["a/b"],"http.response.header.server":["x"]}"#))
    #expect(!line.contains("s3cret"))
  }

  @Test func `are taken out by the app's own rule`() throws {
    var redaction = LogRedaction()
    redaction.allowedRequestHeaders = ["accept", "authorization"]
    redaction.custom = { key, text in
      ["note", "http.request.header.accept"].contains(key) ? nil : text.replacing("s3cret", with: "***")
    }
    let line = try line(redaction, fields: ["note": "s3cret", "hint": "a s3cret", "count": 1])
    #expect(!line.contains("s3cret"))
    #expect(line.contains("/users/path-***;sid=REDACTED/x?"))
    #expect(line.hasSuffix(#","http.request.header.authorization":["Bearer ***"],"count":1,"hint":"a ***"}"#))
  }

  @Test(arguments: [RequestDirection.outbound, .inbound])
  func `are asked for by the app's own rule in each text with one`(direction: RequestDirection) throws {
    let observation = RequestObservation.whole(direction, .cancelled).with(fields: ["note": "s3cret"])
    let asked = Mutex<[String]>([])
    var redaction = LogRedaction()
    redaction.allowedRequestHeaders = ["accept"]
    redaction.allowedResponseHeaders = ["server"]
    redaction.custom = { key, _ in
      asked.withLock { $0.append(key) }
      return nil
    }
    let line = try line(redaction, of: observation)
    let own =
      direction == .outbound
      ? ["url.full", "url.template", "server.address"] : ["url.path", "http.route", "client.address"]
    let keys =
      own + [
        "http.request.method_original", "network.peer.address", "exception.message", "exception.type",
        "http.request.header.accept", "http.response.header.server", "note",
      ]
    #expect(asked.withLock { $0.sorted() } == keys.sorted())
    #expect(keys.filter { line.contains("\"\($0)\"") } == [])
  }

  @Test(arguments: RequestDirection.allCases)
  func `a tracer gets each text as the line shows it, and as the app's rule makes it`(
    direction: RequestDirection
  ) {
    let isInbound = direction == .inbound
    var redaction = LogRedaction()
    redaction.allowedQueryKeys = ["page"]
    redaction.allowedPaths = ["/users/{id}"]
    func seen(method: String = "BREW") -> [String?] {
      var seen = RequestObservation.whole(direction, .response(statusCode: 200))
      seen.request.method = method
      seen.request.url = (isInbound ? "" : "https://u:s3cret@a") + "/users/s3cret?page=2&token=s3cret"
      redaction.makeRedactor()(&seen)
      let (request, peer) = (seen.request, seen.peerAddress)
      return [
        request.url, request.method, request.urlTemplate, request.serverAddress, request.clientAddress, peer,
      ]
    }
    let url = isInbound ? "/users/REDACTED" : "https://a/users/REDACTED?page=2&token=REDACTED"
    #expect(seen().prefix(2) == [url, "BREW"])
    redaction.custom = { key, _ in key }
    let keys = [
      isInbound ? "url.path" : "url.full", "http.request.method_original",
      isInbound ? "http.route" : "url.template", "server.address", "client.address", "network.peer.address",
    ]
    #expect(seen() == keys)
    #expect(seen(method: "GET")[1] == "GET")
    redaction.custom = { _, _ in nil }
    #expect(seen() == ["", "_OTHER", nil, nil, nil, nil])
  }
}

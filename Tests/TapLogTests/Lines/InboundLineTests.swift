import TapLog
import TestSupport

@Suite(.needs(.thread)) struct InboundLineTests {
  private static let header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

  private func observation(
    _ end: RequestEnd = .response(statusCode: 200), path: String = "/users/42?token=s3cret"
  ) -> RequestObservation {
    RequestObservation(
      request: RequestDescription(
        direction: .inbound, method: "GET", url: path, traceContext: TraceContext(traceparent: Self.header)),
      start: Timestamp(nanosecondsSinceEpoch: 1_795_253_400_111_111_456), duration: .nanoseconds(12_345_000),
      end: end)
  }

  @Test func `has the names of the conventions, in a fixed order`() throws {
    var observation = observation()
    observation.request.scheme = "https"
    observation.request.urlTemplate = "/users/{id}"
    observation.request.clientAddress = "192.0.2.7"
    observation.requestBodySize = 0
    observation.responseBodySize = 512
    observation.request.fields = ["tenant": "acme"]
    let configuration = with(RequestLog.Configuration()) { $0.fields = ["service.name": "shop"] }
    let expected =
      #"{"timestamp":"2026-11-21T09:30:00.123456Z","severity":"INFO","event":"http.server.request","#
      + #""http.request.method":"GET","url.path":"/users/42","url.scheme":"https","http.route":"/users/{id}","#
      + #""client.address":"192.0.2.7","http.response.status_code":200,"duration_s":0.012345,"#
      + #""http.request.body.size":0,"http.response.body.size":512,"outcome":"ok","#
      + #""trace_id":"0af7651916cd43dd8448eb211c80319c","span_id":"b7ad6b7169203331","#
      + #""service.name":"shop","tenant":"acme"}"#
    #expect(try lines(of: observation, configuration: configuration) == [expected])
  }

  @Test(arguments: [
    (RequestEnd.response(statusCode: 404), "INFO", #":404,"duration_s":0.012345,"outcome":"ok","#),
    (
      .response(statusCode: 503), "ERROR",
      #":503,"error.type":"503","duration_s":0.012345,"outcome":"http_error","#
    ),
    (
      .failure(.tls, statusCode: nil), "ERROR",
      #""error.type":"tls","duration_s":0.012345,"outcome":"error","#
    ),
    (.cancelled, "INFO", #""url.path":"/users/42","duration_s":0.012345,"outcome":"cancelled","#),
  ])
  func `tells how it ended: a 4xx is its caller's error`(
    end: RequestEnd, severity: String, part: String
  ) throws {
    let line = try #require(try lines(of: observation(end)).first)
    #expect(line.contains(#""severity":"\#(severity)""#))
    #expect(line.contains(part))
  }

  @Test(arguments: [
    ("/", "/"), ("/a/b?c=d#e", "/a/b"), ("/a;jsessionid=42/b", "/a;jsessionid=REDACTED/b"),
    ("/a@b/c", "/a@b/c"), ("//a/b", "//a/b"), ("*", "*"),
    ("http://user:password@example.com/a?b=c", "http://example.com/a"),
    ("user:password@example.com:443", "user:REDACTED"), ("/a\nb\u{0}", "/a\\nb\\u0000"),
  ])
  func `shows a path, and no secret of it`(path: String, shown: String) throws {
    let line = try #require(try lines(of: observation(path: path)).first)
    #expect(line.contains(#""url.path":"\#(shown)","#))
  }

  @Test func `shows of a path what templates and the app's own rule allow`() throws {
    var configuration = RequestLog.Configuration()
    configuration.redaction.allowedPaths = ["/users/{id}"]
    let shown = try lines(of: observation(), observation(path: "/else/42"), configuration: configuration)
    #expect(shown[0].contains(#""url.path":"/users/REDACTED","#))
    #expect(shown[1].contains(#""url.path":"/REDACTED","#))
    configuration.redaction.custom = { key, value in key == "url.path" ? nil : value }
    let hidden = try lines(of: observation(), configuration: configuration)
    #expect(!hidden[0].contains("url.path"))
  }
}

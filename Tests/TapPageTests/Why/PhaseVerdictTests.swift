import SessionTap
import TestSupport

@testable import TapPage

struct PhaseVerdictTests {
  /// What the page asks, and what it shows.
  private static let rows: KeyValuePairs = [
    "time=.08&queue=.01&resolve=.002&connect=.008&tls=.02&upload=.004&processing=.026&transfer=.008&local=.002&round_trip=.008":
      "32.5 % is processing: the server's work. The network's round trip is 8 ms of 26 ms. The app can change 37.5 %: connecting took 30 ms; make all requests with one session, which uses connections again.",
    "time=.1&processing=.09&local=.01&round_trip=.08":
      "90 % is processing: the network's way there and back. The network's round trip is 80 ms of 90 ms. The app can change 10 %: local took 10 ms; take load off this process.",
    "time=.27&queue=.127&processing=.141&local=.002":
      "52.2 % is processing: the wait for the server's answer. The app can change 47 %: queue took 127 ms; allow more connections (httpMaximumConnectionsPerHost), or make fewer requests at once.",
    "time=.1&queue=.09&processing=.01":
      "90 % is queue: the wait for a free connection of the session. The app can change it: allow more connections (httpMaximumConnectionsPerHost), or make fewer requests at once.",
    "time=.1&resolve=.06&connect=.04": "60 % is resolve: the look-up of the host's name.",
    "time=.1&transfer=.095&queue=.005":
      "95 % is transfer: the response's body, by the network or a server that writes slowly.",
    "time=2&queue=.1&processing=1.9&cut=processing&round_trip=.001":
      "95 % is processing: the wait for the server's answer. It was cut off in processing: its whole time is unknown.",
    "time=1&connect=1&answered=no": "100 % is connect: opening the connection. No answer came.",
    "time=1&processing=.2":
      "80 % is unknown: in no phase, such as redirects, challenges, or a wait for what never came.",
    "time=3&queue=.2&processing=2.798&local=.002&count=68&mean=.341&mean_processing=.33":
      "It took 2.66 s longer than the mean of 68 requests like it, 341 ms: 2.47 s more in processing.\n93.3 % is processing: the wait for the server's answer.",
    "time=.3&processing=.3&count=2&mean=.31":
      "It took 300 ms: less than the mean of 2 requests like it, 310 ms.\n100 % is processing: the wait for the server's answer.",
    "time=.3&processing=.3&count=1&mean=.01": "100 % is processing: the wait for the server's answer.",
    "time=nan&processing=-1&cut=x&count=1e300&mean=inf": "",
    "": "",
  ]

  @Test func `says what took the time of a request, and what the app can change`() {
    let said = Self.rows.map { query, _ in
      PhaseVerdict(EndpointRequest(path: "/", query: query).queryItems).sentences.joined(separator: "\n")
    }
    expectEqual(said, Self.rows.map(\.value))
  }
}

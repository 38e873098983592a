import Dispatch
import TapCore
import TapEndpoint

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

// An endpoint for tools that need a server of its own process: load generators, attackers, benchmarks.
//
//     endpoint-under-test [PORT [HOSTS [FILE-OF-PASSWORDS]]]
//
// Prints its address, and serves until it is killed. /metrics is about 9 KB of histograms for each host: 100
// KB.

struct SeriesLabels: LabelSet {
  let address: String
  let code: Int

  static var labels: [Label<SeriesLabels>] {
    [Label("server_address", \.address), Label("http_response_status_code", \.code)]
  }
}

let arguments = CommandLine.arguments.dropFirst()
let numbers = arguments.prefix(2).compactMap { Int($0) }
var configuration = Endpoint.Configuration(address: .loopback(port: numbers.first ?? 0))
configuration.access.basicPasswordFile = arguments.dropFirst(2).first
let registry = Registry()
let large = [UInt8](repeating: UInt8(ascii: "x"), count: 100_000)
do {
  let durations = try registry.histogram(
    "http_client_request_duration_seconds", help: "Duration of requests.", unit: "seconds",
    by: SeriesLabels.self)
  for host in 0..<(numbers.dropFirst().first ?? 11) {
    for code in [200, 204, 404, 500, 503] {
      let series = durations[SeriesLabels(address: "host-\(host).example.com", code: code)]
      for step in 1...100 { series.record(Double(step * code) / 10_000) }
    }
  }
  let endpoint = Endpoint(
    configuration: configuration,
    routes: [
      .liveness(), try .metrics(of: registry), .immediate("/large") { _ in EndpointResponse(body: large) },
      .onThreads("/later") { _ in .text("ok\n") },
    ])
  // Not by print, which buffers the line unless the output is a terminal.
  let line = "\(try endpoint.start())\n"
  _ = line.withCString { write(STDOUT_FILENO, $0, line.utf8.count) }
  dispatchMain()
} catch {
  print(error)
}

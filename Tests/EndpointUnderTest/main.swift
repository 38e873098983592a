import Dispatch
import TapEndpoint

// An endpoint for tools that need a server of its own process: load generators, attackers, benchmarks.
//
//     endpoint-under-test [PORT]
//
// Prints its address, and serves until it is killed.

let port = CommandLine.arguments.dropFirst().first.flatMap(Int.init) ?? 0
let hundredKilobytes = [UInt8](repeating: UInt8(ascii: "x"), count: 100_000)
let endpoint = Endpoint(
  configuration: .init(address: .loopback(port: port)),
  routes: [
    HTTPRoute("/healthz", immediate: { _ in .text("ok\n") }),
    HTTPRoute("/large", immediate: { _ in HTTPResponse(body: .bytes(hundredKilobytes)) }),
    HTTPRoute("/later", handler: { _ in .text("ok\n") }),
  ])
do {
  print(try endpoint.start())
  dispatchMain()
} catch {
  print(error)
}

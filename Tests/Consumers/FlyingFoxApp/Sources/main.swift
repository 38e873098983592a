import Dispatch
import FlyingFox
import Foundation
import SessionTap

// Serves orders, asks another service about each, and shows how both go:
//
//     STOCK_URL=http://localhost:8081 SESSION_TAP_LOG=requests.jsonl PORT=8080 flyingfox-app
let environment = ProcessInfo.processInfo.environment
guard let stock = URL(string: environment["STOCK_URL"] ?? "") else {
  print("usage: STOCK_URL=http://localhost:8081 flyingfox-app")
  exit(64)
}
var configuration = Tap.Configuration()
// FlyingFox does not tell which of its routes it matched.
configuration.inbound.pathTemplates = ["/hello", "/orders/{id}", "/failing/{status}"]
let tap = try Tap.start(configuration)
let session = tap.session(client: "stock")

struct Failure: AnsweredError { let statusCode: HTTPStatusCode }

var routes = RoutedHTTPHandler()
routes.appendRoute("GET /hello") { _ in HTTPResponse(statusCode: .ok, body: Data("hello\n".utf8)) }
routes.appendRoute("GET /orders/:id") { (id: Int) in
  let (body, _) = try await session.data(for: .traced(stock.appendingPathComponent("items/\(id)")))
  return HTTPResponse(statusCode: .ok, body: body)
}

routes.appendRoute("GET /failing/:status") { (status: Int) -> HTTPResponse in
  // 500 is what FlyingFox makes of an error that says nothing of an answer.
  if status == 500 { throw CancellationError() }
  throw Failure(statusCode: HTTPStatusCode(status, phrase: "Failure"))
}

let server = HTTPServer(
  address: try .inet(ip4: "127.0.0.1", port: UInt16(environment["PORT"] ?? "") ?? 0), logger: .disabled,
  handler: TapMiddleware(inbound: tap.inbound, next: routes))

signal(SIGTERM, SIG_IGN)
let termination = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .main)
termination.setEventHandler { Task { await server.stop(timeout: 5) } }
termination.resume()

async let serving: Void = server.run()
try await server.waitUntilListening()
if case .ip4(let host, let port) = await server.listeningAddress, let metrics = tap.address {
  print("serves at http://\(host):\(port), metrics at http://\(metrics)/metrics")
}
fflush(nil)
// It ends by an error whatever ends it.
try? await serving
await tap.shutdown()

import AsyncHTTPClient
import Foundation
import Hummingbird
import Metrics
import SessionTap
import TapAsyncHTTPClient
import TapBootstrap
import TapHummingbird
import TapServiceLifecycle

var configuration = Tap.Configuration()
configuration.outbound.pathTemplates = ["/users/{id}", "/users/{id}/orders"]
let tap = try Tap.start(configuration)
tap.bootstrap()  // the back end of swift-log, swift-metrics and swift-distributed-tracing
let users = tap.session(client: "users")
let orders = TapHTTPClient("orders", tap: tap)
let lookups = Counter(label: "users.looked.up")
let upstream = Environment().get("UPSTREAM") ?? "http://127.0.0.1:8081"

let router = Router()
router.get("hello") { _, _ in "Hello" }
router.get("users/{id}") { _, context in
  let id = try context.parameters.require("id", as: Int.self)
  context.logger.info("looks up a user", metadata: ["user.id": .stringConvertible(id)])
  lookups.increment()
  guard let url = URL(string: "\(upstream)/users/\(id)") else { throw HTTPError(.badGateway) }
  let (user, _) = try await users.data(for: .traced(url))
  return ByteBuffer(bytes: user)
}
router.get("users/{id}/orders") { _, context in
  let id = try context.parameters.require("id", as: Int.self)
  let request = HTTPClientRequest(url: "\(upstream)/users/\(id)/orders")
  return try await orders.execute(request, timeout: .seconds(5)).body.collect(upTo: 1 << 20)
}

let port = Environment().get("PORT", as: Int.self) ?? 8080
let app = Application(
  router: router, observedBy: tap, configuration: .init(address: .hostname(port: port)),
  services: [TapService(tap)])
try await app.runService()

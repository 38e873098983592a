import AsyncHTTPClient
import Foundation
import Hummingbird
import Metrics
import Prices
import SessionTap
import TapAsyncHTTPClient
import TapBootstrap
import TapEverySession
import TapHummingbird
import TapServiceLifecycle

// A service as it is on the day that it gets a tap: nothing in its handlers but `traced` knows of traces.

var configuration = Tap.Configuration()
configuration.logging.redaction.allowedResponseHeaders = ["X-Number"]
let tap = try Tap.start(configuration)
tap.bootstrap()
tap.observeEverySession(client: "library")
let upstream = Environment().get("UPSTREAM") ?? "http://127.0.0.1:8081"
let users = tap.session(client: "users")
let orders = TapHTTPClient("orders", tap: tap)
let prices = PriceList(server: upstream)
let checkouts = Counter(label: "checkouts")
guard let common = URL(string: "\(upstream)/common") else { fatalError("UPSTREAM is no URL") }
let sharedRequest = URLRequest(url: common)

let router = Router()
router.get("checkout/{id}") { _, context in
  let id = try context.parameters.require("id", as: Int.self)
  guard let plain = URL(string: "\(upstream)/plain/\(id)"),
    let traced = URL(string: "\(upstream)/traced/\(id)")
  else { throw HTTPError(.badGateway) }
  context.logger.info("checks out", metadata: ["order.id": .stringConvertible(id)])
  checkouts.increment()
  async let user = users.data(from: plain)
  async let account = users.data(for: .traced(traced))
  _ = try await (user, account)
  let request = HTTPClientRequest(url: "\(upstream)/orders/\(id)")
  _ = try await orders.execute(request, timeout: .seconds(30)).body.collect(upTo: 1 << 20)
  return try await prices.price(of: id)
}
// The worst case: all that is served at a time sends one value, of which Foundation tells no task from
// another.
router.get("common") { _, context in
  let (_, response) = try await users.data(for: sharedRequest)
  let number = (response as? HTTPURLResponse)?.value(forHTTPHeaderField: "X-Number")
  context.logger.info("got a number", metadata: ["number": .string(number ?? "")])
  return "common"
}

let port = Environment().get("PORT", as: Int.self) ?? 8080
let app = Application(
  router: router, observedBy: tap, configuration: .init(address: .hostname(port: port)),
  services: [TapService(tap)])
try await app.runService()

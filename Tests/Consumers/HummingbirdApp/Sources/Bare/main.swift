import AsyncHTTPClient
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import ServiceLifecycle

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// The app beside this one without a tap. Without an upstream it answers itself.
let upstream = CommandLine.arguments.dropFirst().first.flatMap(URL.init(string:))
let session = URLSession(configuration: .default)

let router = Router()
router.get("hello") { _, _ in "Hello" }
router.get("users/{id}") { request, context in
  let id = try context.parameters.require("id", as: Int.self)
  guard let upstream else { return ByteBuffer(string: #"{"id":\#(id),"name":"Ada"}"#) }
  let (body, _) = try await session.data(from: upstream.appendingPathComponent("users/\(id)"))
  return ByteBuffer(bytes: body)
}

router.get("trace") { request, _ in HTTPField.Name("traceparent").flatMap { request.headers[$0] } ?? "" }
// With both clients, so that it differs from the other program by the tap alone.
router.get("clients") { _, _ in
  guard let url = upstream?.appendingPathComponent("trace") else { return "" }
  let (first, _) = try await session.data(from: url)
  let response = try await HTTPClient.shared.execute(
    HTTPClientRequest(url: url.absoluteString), timeout: .seconds(30))
  let second = try await response.body.collect(upTo: 1 << 10)
  return String(decoding: first, as: UTF8.self) + "\n" + String(buffer: second)
}

var logger = Logger(label: "bare-app")
logger.logLevel = .error
let app = Application(
  router: router, configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
  onServerRunning: { channel in
    FileHandle.standardOutput.write(Data(#"{"app":\#(channel.localAddress?.port ?? 0)}"#.utf8 + [10]))
  }, logger: logger)
try await ServiceGroup(
  configuration: ServiceGroupConfiguration(
    services: [app], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
).run()

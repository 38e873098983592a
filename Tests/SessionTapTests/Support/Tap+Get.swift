import SessionTap
import TestSupport

extension Tap.Configuration {
  /// One that listens at a free port, if at no other, and tells nothing on standard error.
  static func test(
    at address: EndpointAddress = .loopback(port: 0), log: RequestLog.Destination? = nil,
    environment: [String: String]? = nil,
    _ change: (inout Tap.Configuration) -> Void = { _ in }
  ) -> Tap.Configuration {
    var configuration = environment.map { Tap.Configuration(environment: $0) } ?? Tap.Configuration()
    configuration.endpoint?.address = address
    (configuration.log, configuration.isQuiet) = (log, true)
    change(&configuration)
    return configuration
  }
}

extension Tap {
  /// What its endpoint answers to a GET, with the head.
  func get(_ path: String, fields: String = "") async throws -> String {
    let address = try #require(address)
    return try await RawClient(host: address.host, port: address.port).get(path, fields: fields)
  }
}

extension Tap {
  /// The objects of the lines of such an answer.
  func objects(_ path: String) async throws -> [JSONMembers] {
    try jsonObjects(RawClient.body(of: try await get(path)))
  }

  /// The newest lines of the log, as text and as objects.
  var logText: String { requestLog?.recentText ?? "" }
  var logLines: [JSONMembers] { get throws { try jsonObjects(logText) } }
}

extension RequestLog { var recentText: String { String(decoding: recent(), as: UTF8.self) } }

/// With a handler the signal does not end the process.
func waitForHandler(of signal: Int32) async throws {
  try await Poll.until("a handler of the signal \(signal)") {
    var action = sigaction()
    sigaction(signal, nil, &action)
    return action.__sigaction_handler.sa_handler != nil
  }
}

/// The address of the signal's handler: 0 for its default action, 1 where it is ignored.
func handler(of signal: Int32) -> Int {
  var action = sigaction()
  sigaction(signal, nil, &action)
  return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
}

import SessionTap
import TestSupport

extension Tap {
  /// What its endpoint answers to a GET, with the head.
  func get(_ path: String, fields: String = "") async throws -> String {
    try await RawClient.get(path, port: #require(address?.port), fields: fields)
  }
}

extension RawClient {
  convenience init(_ address: EndpointAddress) throws {
    if let port = address.port { try self.init(port: port) } else { try self.init(path: address.description) }
  }
}

/// What code blocks of the documentation may use without making it first. Nothing of it is ever run.
public import Foundation
public import SessionTap

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

nonisolated(unsafe) public var configuration = Tap.Configuration()
public let tap = unmade(Tap.self)
public let registry = Registry()
public let log = unmade(RequestLog.self)
public let readiness = Readiness()

public let url = unmade(URL.self)
nonisolated(unsafe) public var request = unmade(URLRequest.self)
public let session = unmade(URLSession.self)
public let delegate = unmade((any URLSessionDelegate).self)

/// An app's own pool of connections and its queue of jobs.
public let pool = unmade(Pool.self)
public protocol Pool: Sendable {
  var isConnected: Bool { get }
  var count: Int { get }
}

/// A framework's.
public struct Request: Sendable {
  public var method: String
  public var path: String
  public var route: String?
  public var headers: [String: String]
}
public struct Response: Sendable {
  public var status: Int
}

private func unmade<Value>(_ type: Value.Type) -> Value { fatalError("code blocks are compiled, not run") }

/// What code blocks of the documentation may use without making it first. Nothing of it is ever run.
public import Foundation
public import Hummingbird
public import Logging
public import ServiceLifecycle
public import SessionTap

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

// What the library makes.

/// A configuration that is being filled in.
nonisolated(unsafe) public var configuration = Tap.Configuration()
/// A tap that was started.
public let tap = unmade(Tap.self)
/// For the pages of TapCore, which know no tap.
public let registry = Registry()
/// Where requests are recorded.
public let recorder = unmade(RequestRecorder.self)
/// A log.
public let log = unmade(RequestLog.self)
/// A request that the app serves.
public let inbound = unmade(ActiveRequest.self)

// What Foundation makes.

/// Where a request goes.
public let url = unmade(URL.self)
/// A request that is being filled in.
nonisolated(unsafe) public var request = unmade(URLRequest.self)
/// A session that was made before.
public let session = unmade(URLSession.self)
/// The delegate that a session needs.
public let delegate = unmade((any URLSessionDelegate).self)

// What Hummingbird and its libraries make.

/// The routes of an app.
nonisolated(unsafe) public let router = unmade(Router<BasicRequestContext>.self)
/// An app, as a service.
public let app = unmade((any Service).self)
/// The app's logger.
public let logger = unmade(Logger.self)

// What the app has.

/// Connections to a database.
public let pool = unmade((any Pool).self)
/// Jobs that wait.
public let queue: [Int] = []
/// What a pool tells about itself.
public protocol Pool: Sendable {
  /// Whether there is a connection.
  var isConnected: Bool { get async }
  /// How many there are.
  var count: Int { get }
  /// How many there ever were.
  var opened: Int { get }
}

/// The labels of a family.
public struct JobLabels: LabelSet {
  /// What the job does.
  public var kind: String
  /// Makes a key.
  public init(kind: String) { self.kind = kind }
  /// Its one label.
  public static var labels: [Label<JobLabels>] { [Label("kind", \.kind)] }
}

/// What answers behind a middleware.
public func next<Incoming>(_ request: Incoming) async throws -> Response { unmade(Response.self) }
/// A client that SessionTap has no adapter for.
public func send(_ url: String, traceparent: String) async throws -> Response { unmade(Response.self) }
/// The value of a header.
public let header: String? = nil
/// The headers of a request.
public let headers: [String: String] = [:]

/// A response as a web framework has it.
public struct Response: Sendable {
  /// The status code.
  public var status: Int
  /// The headers.
  public var headers: [String: String]
}

private func unmade<Value>(_ type: Value.Type) -> Value { fatalError("code blocks are compiled, not run") }

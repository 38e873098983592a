import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The sessions of the demo, by the name that is given to the factory.
enum DemoClient: String, CaseIterable {
  case catalogue, accounts, warehouse
  /// Has two connections for bursts of slow bodies: its requests wait for one.
  case reports
  /// Opens a connection for each request: its server closes them.
  case tokens

  /// The settings of the session.
  var configuration: URLSessionConfiguration {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.timeoutIntervalForRequest = self == .warehouse ? 2 : 10
    configuration.httpMaximumConnectionsPerHost = self == .reports ? 2 : 32
    return configuration
  }
}

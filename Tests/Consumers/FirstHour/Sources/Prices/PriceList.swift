import Foundation
import Logging

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A library as many are: it keeps its session to itself, logs by swift-log, and knows no tap.
public final class PriceList: Sendable {
  private let session = URLSession(configuration: .ephemeral)
  private let logger = Logger(label: "prices")
  private let server: String

  /// Makes one that asks a server.
  public init(server: String) { self.server = server }

  /// What the server answers.
  public func price(of product: Int) async throws -> String {
    guard let url = URL(string: "\(server)/library/\(product)") else { throw URLError(.badURL) }
    logger.notice("asks for a price")
    return try await withCheckedThrowingContinuation { continuation in
      session.dataTask(with: url) { data, _, error in
        if let error { return continuation.resume(throwing: error) }
        continuation.resume(returning: String(decoding: data ?? Data(), as: UTF8.self))
      }.resume()
    }
  }
}

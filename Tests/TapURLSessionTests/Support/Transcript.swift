import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// All that an app sees of one request. Two transcripts are equal when the app cannot tell them apart.
struct Transcript: Equatable, Sendable {
  /// The callbacks in their order; consecutive pieces of one stream count as one, since the network cuts
  /// them where it likes.
  var events: [String] = []
  var status: Int?
  var headers: [String: String] = [:]
  var body: [UInt8] = []
  var error: String?

  mutating func note(_ event: String) {
    if events.last != event { events.append(event) }
  }

  mutating func note(_ response: URLResponse?) {
    guard let response = response as? HTTPURLResponse else { return }
    status = response.statusCode
    headers = [:]
    for (name, value) in response.allHeaderFields { headers["\(name)"] = "\(value)" }
  }

  mutating func note(_ error: (any Error)?) {
    guard let error = error as NSError? else { return }
    self.error = "\(error.domain) \(error.code)"
  }
}

/// The three ways in which an app hears of a task.
enum Style: String, CaseIterable, Sendable {
  case async, completionHandler, delegate
}

/// The kinds of tasks.
enum Kind: String, CaseIterable, Sendable {
  case data, uploadData, uploadFile, uploadStream, download

  /// Whether Foundation offers this pair: a streamed upload has no async and no completion-handler form.
  func exists(in style: Style) -> Bool { self != .uploadStream || style == .delegate }
}

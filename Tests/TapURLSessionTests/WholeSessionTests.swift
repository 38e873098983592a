import Foundation
import TapCore
import TapURLSession
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Sessions that the tap makes whole: what they tell beyond a patched configuration. The matrix runs them too.
@Suite struct WholeSessionTests {
  let observer = RecordingObserver()
  let tap: URLSessionTap

  init() {
    tap = URLSessionTap(observers: [observer])
  }

  private func observation(
    _ origin: Origin, kind: Kind = .data, style: Style = .sessionDelegate,
    credential: URLCredential? = nil, queue: OperationQueue? = nil
  ) async throws -> RequestObservation {
    var exchange = Exchange(kind: kind, style: style, request: URLRequest(url: origin.url()))
    exchange.behaviour.credential = credential
    exchange.makeSession = { [tap] configuration, delegate, _ in
      tap.session(configuration: configuration, client: "whole", delegate: delegate, delegateQueue: queue)
    }
    _ = try await exchange.run(.ephemeral)
    try await observer.waitForEnds(1)
    return try #require(observer.ended.first)
  }

  @Test func `the size of a chunked body is exact, and the time to its first byte is known`() async throws {
    let origin = try Origin { _ in [.chunked(body: Scenario.body, chunk: 999)] }
    defer { origin.stop() }
    let observation = try await observation(origin)
    #expect(observation.responseBodySize == Int64(Scenario.body.count))
    let firstByte = try #require(observation.timeToFirstByte)
    #expect(firstByte > .zero && firstByte <= observation.duration)
  }

  @Test func `after a challenge the size and the first byte are the second leg's`() async throws {
    let firstLeg = Gate()
    let origin = try Origin { request in
      request.headers["authorization"] != nil
        ? [.chunked(body: Scenario.body, chunk: 999)]
        : [
          .response(
            "401 Unauthorized", headers: [("WWW-Authenticate", "Basic realm=\"cellar\"")],
            body: Array("who are you?".utf8)),
          .signal(firstLeg),
        ]
    }
    defer { origin.stop() }
    let observation = try await observation(origin, credential: Scenario.credential)
    #expect(firstLeg.isOpen)
    #expect(observation.end == .response(statusCode: 200))
    #expect(observation.responseBodySize == Int64(Scenario.body.count))
    #expect(observation.timeToFirstByte != nil)
  }

  @Test func `nobody counts on a queue that is not serial`() async throws {
    let origin = try Origin { _ in [.chunked(body: [1, 2, 3], chunk: 2)] }
    defer { origin.stop() }
    let queue = OperationQueue()
    let observation = try await observation(origin, queue: queue)
    #expect(observation.responseBodySize == nil)
  }

  @Test func `two taps on one session count both`() async throws {
    let origin = try Origin { _ in [.chunked(body: Scenario.body, chunk: 999)] }
    defer { origin.stop() }
    let outerObserver = RecordingObserver()
    let outer = URLSessionTap(observers: [outerObserver])
    var exchange = Exchange(
      kind: .data, style: .sessionDelegate, request: URLRequest(url: origin.url()))
    exchange.makeSession = { [tap] configuration, delegate, queue in
      outer.session(
        configuration: tap.configuration(from: configuration, client: "inner"), client: "outer",
        delegate: delegate, delegateQueue: queue)
    }
    _ = try await exchange.run(.ephemeral)
    for observer in [observer, outerObserver] {
      try await observer.waitForEnds(1)
      #expect(observer.ended.map(\.end) == [.response(statusCode: 200)])
      #expect(observer.ended.map(\.responseBodySize) == [Int64(Scenario.body.count)])
    }
  }

  @Test(arguments: [Style.async, .completionHandler])
  func `calls without a delegate go through as well`(style: Style) async throws {
    let origin = try Origin { _ in [.chunked(body: [1, 2, 3], chunk: 2)] }
    defer { origin.stop() }
    let observation = try await observation(origin, style: style)
    #expect(observation.request.client == "whole")
    #expect(observation.responseBodySize == 3)
  }
}

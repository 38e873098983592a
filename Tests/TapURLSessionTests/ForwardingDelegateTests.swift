import Foundation
import TapCore
import TestSupport
import Testing

@testable import TapURLSession

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What stands before a delegate in a session that the tap makes whole: nobody can tell it from the delegate.
@Suite struct ForwardingDelegateTests {
  private let callbacks: EveryCallback

  init() throws {
    callbacks = try EveryCallback()
  }

  private static func conformances(of delegate: any URLSessionDelegate) -> [Bool] {
    [
      delegate is any URLSessionTaskDelegate, delegate is any URLSessionDataDelegate,
      delegate is any URLSessionDownloadDelegate, delegate is any URLSessionWebSocketDelegate,
    ]
  }

  @Test(arguments: SilentDelegates.all.indices)
  func `it has the delegate's conformances and defaults`(index: Int) {
    let delegate = SilentDelegates.all[index]
    let forwarder = Forwarders.forwarder(for: delegate)
    #expect(Self.conformances(of: forwarder) == Self.conformances(of: delegate))
    #expect(callbacks.call(forwarder) == callbacks.call(delegate))
  }

  @Test func `the sets of conformances are all there are`() {
    let sets = Set(SilentDelegates.all.map(Self.conformances))
    #expect(sets.count == SilentDelegates.all.count)
    // Nothing, tasks alone, and every choice of the three kinds that refine it but none.
    #expect(sets.count == 1 + 1 + 7)
  }

  @Test func `it hands on every callback, with what it carries and what it is answered`() {
    let (stock, tapped) = (NamingDelegate(), NamingDelegate())
    let stockAnswers = callbacks.call(stock)
    #expect(callbacks.call(Forwarders.forwarder(for: tapped)) == stockAnswers)
    #expect(tapped.called == stock.called)
    // The callbacks of the four protocols, from the declarations.
    #expect(Set(stock.called).count == 19)
    #expect(stockAnswers.count == 7)
  }

  @Test func `a delegate of a task falls back on the session's delegate as in stock`() async throws {
    let origin = try Origin { request in
      request.path == "/end"
        ? [.response()] : [.response("302 Found", headers: [("Location", "/end")])]
    }
    defer { origin.stop() }
    var called: [[String]] = []
    for isTapped in [false, true] {
      let sessionDelegate = NamingDelegate()
      let tap = URLSessionTap(observers: [])
      let session =
        isTapped
        ? tap.session(configuration: .ephemeral, client: "test", delegate: sessionDelegate)
        : URLSession(configuration: .ephemeral, delegate: sessionDelegate, delegateQueue: nil)
      _ = try await session.data(for: URLRequest(url: origin.url()), delegate: SilentDelegates.OfTasks())
      session.finishTasksAndInvalidate()
      called.append(sessionDelegate.called.filter { $0 != "invalid" })
    }
    #expect(called.first == called.last)
  }

  @Test func `the session lets go of the delegate when it is invalidated`() async throws {
    let tap = URLSessionTap(observers: [])
    weak var released: TranscriptDelegate?
    var delegate: TranscriptDelegate? = TranscriptDelegate(.init(), uploadBody: [])
    released = delegate
    let invalid = try #require(delegate?.invalid)
    let session = tap.session(configuration: .ephemeral, client: "test", delegate: delegate)
    delegate = nil
    #expect(released != nil)
    session.finishTasksAndInvalidate()
    try await invalid.wait("didBecomeInvalid")
    _ = try await Poll.until("the release") { released == nil ? true : nil }
  }
}

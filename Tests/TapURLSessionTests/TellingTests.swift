import Foundation
import Synchronization
import TapCore
import Testing

@testable import TapURLSession

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What observers hear of a request, wherever in its life they are told.
@Suite struct TellingTests {
  /// Something that happens to a request.
  enum Step: CaseIterable, Sendable {
    case start, startAgain, wait, end, endAgain
  }

  /// Writes down what it hears, in its order.
  private final class Transcript: RequestObserver {
    private let lines = Mutex<[String]>([])
    var text: [String] { lines.withLock { $0 } }

    func requestStarted(_ request: RequestDescription) {
      lines.withLock { $0.append("start \(request.url)") }
    }
    func requestWaits(_ request: RequestDescription, for duration: Duration) {
      lines.withLock { $0.append("wait \(request.url)") }
    }
    func requestEnded(_ observation: RequestObservation) {
      lines.withLock { $0.append("\(observation.end.outcome) \(observation.request.url)") }
    }
  }

  /// Lives through the steps, with a flush before those that `flushes` has a bit for, and goes away.
  private func told(of steps: some Sequence<Step>, flushes: Int, observers count: Int = 1) throws
    -> [[String]]
  {
    let observers = (0..<count).map { _ in Transcript() }
    let tap = URLSessionTap(observers: observers)
    let url = try #require(URL(string: "http://localhost/"))
    var request: TappedRequest? = TappedRequest(
      RequestOutline(URLRequest(url: url), taskContext: nil, keepsHeaders: false),
      client: TapClient(tap: tap, name: "test"))
    for (place, step) in steps.enumerated() {
      if flushes >> place & 1 == 1 { tap.flush() }
      switch step {
      case .start, .startAgain: request?.start()
      case .wait: request?.waits(for: .seconds(1))
      case .end: request?.end(.response(statusCode: 200))
      case .endAgain: request?.end(.cancelled)
      }
    }
    request = nil
    tap.flush()
    // Whoever went away without an end is told of by an heir.
    tap.flush()
    #expect(tap.requestCount.load(ordering: .relaxed) == 0)
    return observers.map(\.text)
  }

  @Test(arguments: 0..<32)
  func `a whole life, whenever it is told`(flushes: Int) throws {
    let told = try told(of: Step.allCases, flushes: flushes, observers: 2)
    let expected = ["start", "wait", "ok"].map { "\($0) http://localhost/" }
    #expect(told == [expected, expected])
  }

  @Test(arguments: 0..<8)
  func `a request that goes away without an end was cancelled`(flushes: Int) throws {
    let told = try told(of: [.start, .wait, .startAgain], flushes: flushes)
    #expect(told == [["start", "wait", "cancelled"].map { "\($0) http://localhost/" }])
  }

  @Test(arguments: 0..<4)
  func `nothing of a request that never starts`(flushes: Int) throws {
    #expect(try told(of: [.wait, .end], flushes: flushes) == [[]])
  }

  @Test func `nobody hears of it, and it goes`() throws {
    #expect(try told(of: Step.allCases, flushes: 0b10101, observers: 0).isEmpty)
  }
}

import Foundation
import TapCore
import TapURLSession
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What ends a process of stock Foundation's, and not one with a tap.
@Suite struct SurvivalTests {
  @Test func `a tapped task that is resumed, suspended and resumed at once ends once`() async {
    await #expect(processExitsWith: .success) {
      alarm(60)
      let origin = try Origin { _ in [.response()] }
      let observer = RecordingObserver()
      let tap = URLSessionTap(observers: [observer])
      let session = URLSession(configuration: tap.sessionConfiguration(from: .ephemeral, client: "test"))
      for number in 1...50 {
        let done = Gate()
        let task = session.dataTask(with: origin.url()) { _, _, _ in done.open() }
        task.resume()
        task.suspend()
        task.resume()
        try await done.wait("the completion")
        tap.flush()
        try await observer.waitForEnds(number)
      }
      #expect(observer.ended.map(\.end) == Array(repeating: .response(statusCode: 200), count: 50))
    }
  }
}

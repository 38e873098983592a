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
      // No request ends before it is resumed again: a task that is suspended at its end may end the process, with a tap as well.
      let resumed = (0..<50).map { _ in Gate() }
      let origin = try Origin { request in
        [.hold(resumed[Int(request.path.dropFirst()) ?? 0]), .response()]
      }
      let observer = RecordingObserver()
      let tap = URLSessionTap(observers: [observer])
      let session = URLSession(configuration: tap.sessionConfiguration(from: .ephemeral, client: "test"))
      for (number, isResumed) in resumed.enumerated() {
        let done = Gate()
        let task = session.dataTask(with: origin.url("/\(number)")) { _, _, _ in done.open() }
        task.resume()
        task.suspend()
        task.resume()
        isResumed.open()
        try await done.wait("the completion")
        tap.flush()
        try await observer.waitForEnds(number + 1)
      }
      #expect(observer.ended.map(\.end) == Array(repeating: .response(statusCode: 200), count: 50))
    }
  }
}

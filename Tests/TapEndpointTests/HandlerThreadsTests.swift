import TestSupport

@testable import TapCore
@testable import TapEndpoint

@Suite(.needs(.thread)) struct HandlerThreadsTests {
  @Test func `what exceeds the threads waits for one of them`() async throws {
    let threads = HandlerThreads(limit: 1)
    let (begun, goOn, done) = (Gate(), Gate(), Gate())
    let order = Mutex<[(number: Int, thread: UInt)]>([])
    for number in 0..<8 {
      try threads.perform {
        if number == 0 {
          begun.open()
          goOn.waitBlocking()
        }
        order.withLock { $0.append((number, BackgroundThread.current)) }
        if number == 7 { done.open() }
      }
      if number == 0 { try await begun.wait("the first") }
    }
    goOn.open()
    try await done.wait("the last")
    let all = order.withLock { $0 }
    #expect(all.map(\.number) == Array(0..<8))
    #expect(Set(all.map(\.thread)).count == 1)
  }
}

import TestStart
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
    let (numbers, threadsUsed) = (all.map(\.number), Set(all.map(\.thread)))
    #expect(numbers == [0, 1, 2, 3, 4, 5, 6, 7] && threadsUsed.count == 1)
  }

  @Test(.needs(.program)) func `work for which there is no other thread waits for the one that works`() async
  {
    await #expect(processExitsWith: .success) {
      let threads = HandlerThreads(limit: 2)
      let (begun, goOn, done) = (Gate(), Gate(), Gate())
      try threads.perform {
        begun.open()
        goOn.waitBlocking()
      }
      try await begun.wait("the first")
      refuse_threads(-1)
      try threads.perform { done.open() }
      goOn.open()
      try await done.wait("the second")
      refuse_threads(0)
    }
  }
}

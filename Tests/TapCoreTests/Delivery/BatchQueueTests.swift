import Dispatch
import Foundation
import Synchronization
import TapCore
import TestSupport
import Testing

@Suite("A batch queue")
struct BatchQueueTests {
  /// Keeps what is handed on.
  private final class Receiver: Sendable {
    private let state = Mutex<[Int]>([])
    let isHeard = Gate()
    var heard: [Int] { state.withLock { $0 } }

    func take(_ group: [Int]) {
      state.withLock { $0 += group }
      isHeard.open()
    }
  }

  private let receiver = Receiver()

  private func queue(
    hurryLimit: Int = .max, helpLimit: Int = .max, delay: Duration = .seconds(600),
    rest: Duration = .seconds(600)
  ) -> BatchQueue<Int> {
    BatchQueue(hurryLimit: hurryLimit, helpLimit: helpLimit, delay: delay, rest: rest) { [receiver] in
      receiver.take($0)
    }
  }

  @Test("hands on in order, whatever the size of a group", arguments: [1, 31, 32, 33, 64, 100, 1_000])
  func order(count: Int) {
    let queue = queue()
    for number in 0..<count { queue.add(number) }
    #expect(receiver.heard.isEmpty)
    queue.flush()
    #expect(receiver.heard == Array(0..<count))
    queue.flush()
    #expect(receiver.heard.count == count)
  }

  @Test("hands on by itself, and goes on after its thread has rested or ended")
  func byItself() async throws {
    // Nobody tells when the thread rests or ends: so short are both that a hundred elements meet all of it.
    let gates = (0..<100).map { _ in Gate() }
    let queue = BatchQueue<Int>(helpLimit: .max, delay: .microseconds(1), rest: .microseconds(100)) { group in
      for number in group { gates[number].open() }
    }
    for (number, gate) in gates.enumerated() {
      queue.add(number)
      try await gate.wait("element \(number)")
    }
  }

  @Test("hurries when there are many groups")
  func hurry() async throws {
    let queue = queue(hurryLimit: 2)
    for number in 0..<63 { queue.add(number) }
    #expect(receiver.heard.isEmpty)
    queue.add(63)
    try await receiver.isHeard.wait("the thread")
  }

  @Test("has groups handed on by whoever completes one, once there are too many")
  func help() {
    let queue = queue(helpLimit: 3)
    for number in 0..<95 { queue.add(number) }
    #expect(receiver.heard.isEmpty)
    queue.add(95)
    #expect(receiver.heard == Array(0..<96))
    for number in 96..<127 { queue.add(number) }
    #expect(receiver.heard.count == 96)
    queue.add(127)
    #expect(receiver.heard == Array(0..<128))
  }

  @Test("takes more while a group is being handed on, up to a bound, and then waits")
  func bound() async throws {
    let (isStuck, mayGoOn, isAdded) = (Gate(), DispatchSemaphore(value: 0), Gate())
    let received = Mutex(0)
    let queue = BatchQueue<Int>(helpLimit: 8, delay: .seconds(600), rest: .seconds(600)) { group in
      if !isStuck.isOpen {
        isStuck.open()
        mayGoOn.wait()
      }
      received.withLock { $0 += group.count }
    }
    queue.add(0)
    DispatchQueue.global().async { queue.flush() }
    try await isStuck.wait("the first group")
    // 63 groups do not wait for whom the first one waits.
    for number in 0..<(64 * 32 - 1) { queue.add(number) }
    #expect(received.withLock { $0 } == 0)
    DispatchQueue.global().async {
      queue.add(0)
      isAdded.open()
    }
    #expect(!isAdded.isOpen)
    mayGoOn.signal()
    try await isAdded.wait("the one that is too many")
    #expect(received.withLock { $0 } == 64 * 32 + 1)
  }

  @Test("does not wait for itself: who is handed a group may add and flush")
  func reentrant() {
    let heard = Mutex<[Int]>([])
    let own = Mutex<BatchQueue<Int>?>(nil)
    let queue = BatchQueue<Int>(helpLimit: 1, delay: .seconds(600), rest: .seconds(600)) { group in
      heard.withLock { $0 += group }
      for number in group where number < 100 {
        own.withLock { $0 }?.add(number + 100)
        own.withLock { $0 }?.flush()
      }
    }
    own.withLock { $0 = queue }
    for number in 0..<100 { queue.add(number) }
    while heard.withLock({ $0.count }) < 200 { queue.flush() }
    #expect(heard.withLock { $0.sorted() } == Array(0..<200))
    own.withLock { $0 = nil }
  }

  @Test("hands on each element once, in the order of its thread, though eight add and flush")
  func eightThreads() {
    let queue = queue(hurryLimit: 2, helpLimit: 4, delay: .microseconds(10), rest: .microseconds(10))
    DispatchQueue.concurrentPerform(iterations: 8) { thread in
      for number in 0..<5_000 {
        queue.add(thread * 5_000 + number)
        if number % 1_000 == 0 {
          queue.flush()
          let own = receiver.heard.filter { $0 / 5_000 == thread }
          #expect(own == Array(thread * 5_000...thread * 5_000 + number))
        }
      }
    }
    queue.flush()
    #expect(receiver.heard.sorted() == Array(0..<40_000))
  }

  @Test("changes nothing for threads that a receiver starts: they inherit the priority of the queue's own")
  func priority() async throws {
    let heard = Gate()
    let priorities = Mutex<[Int32]>([])  // 0 is PRIO_PROCESS: on Linux the calling thread (setpriority(2)).
    let queue = BatchQueue<Int>(helpLimit: .max, delay: .microseconds(1)) { _ in
      Thread.detachNewThread {
        priorities.withLock { $0.append(getpriority(0, 0)) }
        heard.open()
      }
    }
    let own = getpriority(0, 0)
    queue.add(1)
    try await heard.wait("a thread of the receiver's")
    #expect(priorities.withLock { $0 } == [own])
  }

  @Test("hands on at an exit, and gives up on a receiver that takes too long")
  func exit() {
    let queue = queue()
    queue.add(7)
    queue.flushAtExit(within: .seconds(60))
    #expect(receiver.heard == [7])

    let never = DispatchSemaphore(value: 0)
    let stuck = BatchQueue<Int>(helpLimit: .max, delay: .seconds(600)) { _ in never.wait() }
    stuck.add(1)
    stuck.flushAtExit(within: .milliseconds(1))
    never.signal()
  }
}

import Dispatch
import Synchronization

/// Holds a thread up while it is shut.
final class Turnstile: Sendable {
  private let isShut = Mutex(true)
  private let semaphore = DispatchSemaphore(value: 0)

  func shut() {
    isShut.withLock { $0 = true }
  }

  func open() {
    isShut.withLock { $0 = false }
    semaphore.signal()
  }

  func wait() {
    while isShut.withLock({ $0 }) { semaphore.wait() }
  }
}

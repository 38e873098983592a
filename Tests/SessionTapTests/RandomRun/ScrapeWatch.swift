import TestSupport

/// Scrapes without pause on a thread of its own, until it is told to end.
final class ScrapeWatch: Sendable {
  struct Result: Sendable {
    var scrapes = 0
    var unbalanced = 0
  }

  private let result = Mutex(Result())
  private let isOver = Atomic<Bool>(false)
  private let isDone = Gate()

  /// - Parameter balance: Scrapes, and gives 0 if the books balance.
  init(balance: @escaping @Sendable () -> Double) {
    Thread.detachNewThread { [self] in
      while !isOver.load(ordering: .relaxed) {
        let isBalanced = balance() == 0
        result.withLock {
          $0.scrapes += 1
          if !isBalanced { $0.unbalanced += 1 }
        }
      }
      isDone.open()
    }
  }

  func end() async -> Result {
    isOver.store(true, ordering: .relaxed)
    try? await isDone.wait(seconds: 60, "the last scrape")
    return result.withLock { $0 }
  }
}

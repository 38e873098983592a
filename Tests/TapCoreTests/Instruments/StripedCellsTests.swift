import TestSupport

@testable import TapCore

@Suite(.needs(.thread), .enabled(if: System.coreCount > 1, "a single processor has a single cell"))
struct StripedCellsTests {
  @Test func `a record goes round a cell that another thread holds, and is read and released`() async throws {
    let living = Living()
    recordBesideAnotherThread(living)
    try await Poll.until(seconds: 20, "release of all cells") {
      living.count.load(ordering: .relaxed) == 0
    }
  }

  private func recordBesideAnotherThread(_ living: Living) {
    let series = Series(living)
    let (isHeld, isDone, isOver) = (Gate(), Gate(), Gate())
    let isInTime = Atomic<Bool>(false)
    Thread.detachNewThread {
      series.cells.withCell { value in
        value.count += 1
        isHeld.open()
        isInTime.store(isDone.waitBlocking(seconds: 20), ordering: .relaxed)
      }
      isOver.open()
    }
    isHeld.waitBlocking()
    for _ in 0..<1_000 { series.cells.withCell { $0.count += 1 } }
    isDone.open()
    isOver.waitBlocking()
    let wasInTime = isInTime.load(ordering: .relaxed)
    #expect(wasInTime)
    var sum = 0
    series.cells.forEachCell { sum += $0.count }
    #expect(sum == 1_001)
  }
}

private final class Series: Sendable {
  struct Value: Sendable {
    var count = 0
    let token: Token
  }

  let cells: StripedCells<Value>

  init(_ living: Living) { cells = StripedCells { Value(token: Token(living)) } }
}

/// How many tokens there are.
private final class Living: Sendable { let count = Atomic<Int>(0) }

private final class Token: Sendable {
  private let living: Living

  init(_ living: Living) {
    self.living = living
    living.count.wrappingAdd(1, ordering: .relaxed)
  }

  deinit { living.count.wrappingSubtract(1, ordering: .relaxed) }
}

import TestSupport

@testable import TapCore

@Suite(.needs(.thread), .enabled(if: System.coreCount > 1, "a single processor has a single cell"))
struct StripedCellsTests {
  private final class Token: Sendable {}

  /// What is held of each cell is released with it.
  private struct Value: Sendable {
    var count = 0
    let token = Token()
  }

  @Test func `a record goes round a cell that another thread holds, and is read and released`() async throws {
    struct Reference { weak var token: Token? }
    var tokens: [Reference] = []
    do {
      let cells = StripedCells { Value() }
      let (isHeld, isDone, isOver, isInTime) = (Gate(), Gate(), Gate(), Gate())
      Thread.detachNewThread {
        cells.withCell { value in
          value.count += 1
          isHeld.open()
          if isDone.waitBlocking(seconds: 20) { isInTime.open() }
        }
        isOver.open()
      }
      isHeld.waitBlocking()
      for _ in 0..<1_000 { cells.withCell { $0.count += 1 } }
      isDone.open()
      isOver.waitBlocking()
      #expect(isInTime.isOpen)
      var sum = 0
      cells.forEachCell {
        sum += $0.count
        tokens.append(Reference(token: $0.token))
      }
      #expect(sum == 1_001)
    }
    // The thread may still hold them.
    let references = tokens
    try await Poll.until(seconds: 20, "release of all cells") { references.allSatisfy { $0.token == nil } }
  }
}

import TapEndpoint
import Testing

@Suite struct EvictionOrderTests {
  @Test func takesTheOldestIdleFirst() {
    var order = EvictionOrder()
    let slots = (0..<4).map { _ in order.insert(.idle) }
    #expect(slots == [0, 1, 2, 3])
    #expect(order.first(keeping: nil) == 0)
    #expect(order.first(keeping: 0) == 1)
    order.move(0, to: .idle)
    #expect(order.first(keeping: nil) == 1)
    order.move(1, to: .answering)
    order.move(2, to: .waiting)
    order.move(3, to: .waiting)
    #expect(order.first(keeping: nil) == 0)
    #expect(order.first(keeping: 0) == 2)
    order.remove(0)
    order.remove(3)
    #expect(order.first(keeping: nil) == 2)
    order.remove(2)
    #expect(order.first(keeping: nil) == nil)
  }

  @Test func usesSlotsAgain() {
    var order = EvictionOrder()
    for _ in 0..<3 { _ = order.insert(.idle) }
    order.remove(1)
    order.remove(1)
    #expect(order.insert(.waiting) == 1)
    #expect(order.insert(.idle) == 3)
    order.move(99, to: .idle)
    order.remove(-1)
    #expect(order.first(keeping: nil) == 0)
  }

  /// Against a model that is a plain list, over a long random but repeatable run.
  @Test(arguments: [1, 2, 3] as [UInt64])
  func behavesAsAList(seed: UInt64) {
    var state = seed &* 0x9E37_79B9_7F4A_7C15
    func random(below bound: Int) -> Int {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      return Int(state % UInt64(bound))
    }
    var order = EvictionOrder()
    var model: [(slot: Int, activity: Connection.Activity)] = []
    let activities = Connection.Activity.allCases
    for _ in 0..<5_000 {
      let activity = activities[random(below: activities.count)]
      switch random(below: 3) {
      case 0 where model.count < 50:
        model.append((order.insert(activity), activity))
      case 1 where !model.isEmpty:
        order.remove(model.remove(at: random(below: model.count)).slot)
      default:
        guard !model.isEmpty else { continue }
        let slot = model.remove(at: random(below: model.count)).slot
        order.move(slot, to: activity)
        model.append((slot, activity))
      }
      let expected = [Connection.Activity.idle, .waiting].lazy
        .compactMap { activity in model.first { $0.activity == activity }?.slot }.first
      guard order.first(keeping: nil) == expected else {
        Issue.record("expected \(String(describing: expected))")
        return
      }
    }
  }
}

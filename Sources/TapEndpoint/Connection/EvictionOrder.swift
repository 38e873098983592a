/// Which connection has to go when there is no room for another: a queue for each activity, in the order in
/// which connections took it up. Every operation takes constant time, however many connections there are.
package struct EvictionOrder: Sendable {
  private struct Node {
    var previous = -1
    var next = -1
    /// The queue that the slot is in, or -1 for a free slot.
    var queue = -1
  }

  private var nodes: [Node] = []
  private var free: [Int] = []
  private var heads: [Int]
  private var tails: [Int]

  package init() {
    heads = Connection.Activity.allCases.map { _ in -1 }
    tails = heads
  }

  /// Gives out a slot, at the end of the activity's queue. Slots are used again after ``remove(_:)``.
  package mutating func insert(_ activity: Connection.Activity) -> Int {
    let slot = free.popLast() ?? nodes.count
    if slot == nodes.count { nodes.append(Node()) }
    link(slot, activity.rawValue)
    return slot
  }

  /// Puts a slot at the end of the activity's queue.
  package mutating func move(_ slot: Int, to activity: Connection.Activity) {
    guard nodes.indices.contains(slot), nodes[slot].queue >= 0 else { return }
    unlink(slot)
    link(slot, activity.rawValue)
  }

  /// Takes a slot out of its queue.
  package mutating func remove(_ slot: Int) {
    guard nodes.indices.contains(slot), nodes[slot].queue >= 0 else { return }
    unlink(slot)
    nodes[slot].queue = -1
    free.append(slot)
  }

  /// The slot that has to go: the oldest idle one; without one, the oldest that waits for its client. Never
  /// one whose handler works.
  package func first(keeping kept: Int?) -> Int? {
    for activity in [Connection.Activity.idle, .waiting] {
      var slot = heads[activity.rawValue]
      if slot == kept, slot >= 0 { slot = nodes[slot].next }
      if slot >= 0 { return slot }
    }
    return nil
  }

  private mutating func link(_ slot: Int, _ queue: Int) {
    nodes[slot] = Node(previous: tails[queue], next: -1, queue: queue)
    if tails[queue] >= 0 { nodes[tails[queue]].next = slot } else { heads[queue] = slot }
    tails[queue] = slot
  }

  private mutating func unlink(_ slot: Int) {
    let node = nodes[slot]
    if node.previous >= 0 { nodes[node.previous].next = node.next } else { heads[node.queue] = node.next }
    if node.next >= 0 { nodes[node.next].previous = node.previous } else { tails[node.queue] = node.previous }
  }
}

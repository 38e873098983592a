/// What waits in a ``BatchQueue``, in order, and what the queue's thread does meanwhile.
struct ElementGroups<Element: Sendable>: Sendable {
  /// All but the last are complete.
  private var groups: [[Element]] = []
  /// How many elements were ever added.
  private(set) var added: UInt64 = 0
  var thread = DeliveryThread.none

  /// As many elements as the usual cache for data holds.
  private static var size: Int { 32 }
  /// The most groups that wait.
  static var limit: Int { 64 }

  /// How many groups there are.
  var count: Int { groups.count }

  /// Adds an element. Whether it begins a group.
  mutating func add(_ element: Element) -> Bool {
    added &+= 1
    let isFirst = groups.last.map { $0.count == Self.size } ?? true
    if isFirst {
      var group: [Element] = []
      group.reserveCapacity(Self.size)
      groups.append(group)
    }
    groups[groups.count - 1].append(element)
    return isFirst
  }

  /// The oldest group.
  mutating func takeFirst() -> [Element]? {
    groups.isEmpty ? nil : groups.removeFirst()
  }

  /// The thread has nothing to do, unless there is something meanwhile.
  mutating func pause(_ state: DeliveryThread) -> Bool {
    guard groups.isEmpty else { return false }
    thread = state
    return true
  }
}

/// What the thread of a ``BatchQueue`` does.
enum DeliveryThread: Sendable {
  /// There is none.
  case none
  /// It waits to be woken.
  case resting
  /// It hands on, or will within the delay.
  case working
}

/// What waits in a ``BatchQueue``, in order, and what the queue's thread does meanwhile.
struct ElementGroups<Element: Sendable>: Sendable {
  /// The group that elements come into.
  private var open = makeGroup()
  private var complete: [[Element]] = []
  /// Empty ones, whose memory serves again.
  private var spare: [[Element]] = []
  /// How many elements were ever added.
  private(set) var added: UInt64 = 0
  var thread = DeliveryThread.none
  /// The thread does not keep up: until its next turn, whoever completes a group hands on, while the group is in the caches.
  var needsHelp = false

  /// As many elements as the usual cache for data holds.
  private static var size: Int { 32 }
  private static var spareLimit: Int { 8 }
  /// The most complete groups that wait.
  static var limit: Int { 64 }

  /// How many complete groups there are.
  var count: Int { complete.count }

  /// Adds an element. Whether it completes a group.
  @inline(__always)
  mutating func add(_ element: consuming Element) -> Bool {
    added &+= 1
    open.append(element)
    guard open.count == Self.size else { return false }
    complete.append(takeOpen())
    return true
  }

  /// The oldest group.
  mutating func takeFirst() -> [Element]? {
    if !complete.isEmpty { return complete.removeFirst() }
    return open.isEmpty ? nil : takeOpen()
  }

  /// Takes back a group that has been handed on, emptied.
  mutating func recycle(_ group: consuming [Element]) {
    if spare.count < Self.spareLimit { spare.append(group) }
  }

  /// The thread has nothing to do, unless there is something meanwhile.
  mutating func pause(_ state: DeliveryThread) -> Bool {
    guard complete.isEmpty, open.isEmpty else { return false }
    thread = state
    return true
  }

  private mutating func takeOpen() -> [Element] {
    let group = open
    open = spare.popLast() ?? Self.makeGroup()
    return group
  }

  private static func makeGroup() -> [Element] {
    var group: [Element] = []
    group.reserveCapacity(size)
    return group
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

import TestSupport

@testable import TapEndpoint

@Suite struct ConnectionTableTests {
  /// The reserve is the app's: a connection that gets one of its descriptors shows that there are few.
  @Test func `leaves the last descriptors alone, and has room again after five seconds`() {
    var table = ConnectionTable(limit: .max)
    let start = ContinuousClock.now
    table.updateCapacity(at: start)
    let room = table.capacity
    #expect(room > 1 && room < Socket.descriptorLimit)
    table.noteAccepted(Int32(clamping: room - 1), at: start)
    #expect(table.capacity == room)
    table.noteAccepted(Int32(clamping: room), at: start)
    #expect(table.capacity == 1)
    table.updateCapacity(at: start + .seconds(5))
    #expect(table.capacity == 1)
    table.updateCapacity(at: start + .seconds(5) + .nanoseconds(1))
    #expect(table.capacity == room)
  }
}

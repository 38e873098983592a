import TestSupport

@testable import TapEndpoint

@Suite struct ConnectionTableTests {
  /// The reserve is the app's: a connection that gets one of its descriptors shows that there are few.
  @Test func `leaves the last descriptors alone, and has room again after five seconds`() {
    var table = ConnectionTable(limit: .max)
    let start = ContinuousClock.now
    table.updateCapacity(at: start)
    let room = table.capacity
    #expect(room == ConnectionTable.descriptorLimit - min(32, ConnectionTable.descriptorLimit / 4))
    table.noteAccepted(Int32(clamping: room - 1), at: start)
    #expect(table.capacity == room)
    table.noteAccepted(Int32(clamping: room), at: start)
    #expect(table.capacity == 1)
    table.updateCapacity(at: start + .seconds(5))
    #expect(table.capacity == 1)
    table.updateCapacity(at: start + .seconds(5) + .nanoseconds(1))
    #expect(table.capacity == room)
    // A second shortage before the end of the first.
    let (first, second) = (start + .seconds(60), start + .seconds(63))
    table.noteShortage(at: first)
    table.noteShortage(at: second)
    table.updateCapacity(at: second + .seconds(5))
    #expect(table.capacity == 1)
    table.updateCapacity(at: second + .seconds(5) + .nanoseconds(1))
    #expect(table.capacity == room)
  }

  @Test(.needs(.program)) func `leaves a quarter of few descriptors alone, and sees a new limit`() async {
    await #expect(processExitsWith: .success) {
      var table = ConnectionTable(limit: 512)
      for (count, room) in [(127, 96), (128, 96), (129, 97), (64, 48)] {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(7), &limit)  // RLIMIT_NOFILE
        limit.rlim_cur = rlim_t(count)
        try #require(setrlimit(__rlimit_resource_t(7), &limit) == 0)
        table.updateCapacity(at: .now)
        #expect(table.maximum == room)
        #expect(table.capacity == room)
      }
    }
  }

  private static func table(of drivers: [ConnectionDriver]) -> ConnectionTable {
    var table = ConnectionTable(limit: 100)
    for (number, driver) in drivers.enumerated() {
      let id = Connection.ID(number + 1)
      table.open[id] = Connection(id: id, descriptor: -1, state: driver.connection)
    }
    return table
  }

  /// A connection whose requests are answered, or wait.
  private static func driver(after time: Duration, isAnswered: Bool) -> ConnectionDriver {
    var driver = ConnectionDriver()
    driver.pass(time)
    if !isAnswered { driver.answer = { _ in nil } }
    driver.receive("GET /a HTTP/1.1\r\nHost: h\r\n\r\n")
    return driver
  }

  @Test func `at a shortage makes room for those that are open but one`() {
    var table = Self.table(of: Array(repeating: ConnectionDriver(), count: 5))
    table.noteShortage(at: .now)
    #expect(table.capacity == 4)
    table.open[1] = nil
    table.open[2] = nil
    table.noteShortage(at: .now)
    #expect(table.capacity == 2)
    for id in Connection.ID(6)..<20 { table.open[id] = table.open[3] }
    table.noteShortage(at: .now)
    #expect(table.capacity == 2)
    table.open = [:]
    table.noteShortage(at: .now)
    #expect(table.capacity == 1)
  }

  @Test func `closes the one that has been idle longest, then one that waits, and none that is answered`() {
    var table = Self.table(of: [
      ConnectionDriver(), Self.driver(after: .seconds(2), isAnswered: true),
      Self.driver(after: .seconds(1), isAnswered: true), Self.driver(after: .zero, isAnswered: false),
    ])
    for id in [Connection.ID(3), 2, 1] {
      let first = table.firstToClose(except: nil)
      #expect(first?.id == id)
      #expect(table.firstToClose(except: first)?.id != id)
      table.open[id] = nil
    }
    #expect(table.firstToClose(except: nil) == nil)
  }
}

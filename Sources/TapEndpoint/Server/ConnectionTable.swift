import TapCore
import TapLibc

/// The open connections, and how many there may be: fewer than configured where the process runs out of
/// descriptors.
///
/// Some descriptors are reserved. The app needs some, and libdispatch ends the process when it cannot make
/// its event descriptors, or cannot open /proc to inspect its threads (on Linux,
/// `_dispatch_workq_monitor_pools`).
struct ConnectionTable {
  private static let reserve = 32
  /// After this time the process may have descriptors again.
  private static let shortageDuration = Duration.seconds(5)

  var open: [Connection.ID: Connection] = [:]

  private let limit: Int
  /// How many connections the configuration and the descriptors allow.
  private(set) var maximum: Int
  /// How many connections there may be now.
  private(set) var capacity: Int
  /// The first descriptor of the reserve.
  private var reserveBegin = Int.max
  private var lastShortage: ContinuousClock.Instant?

  init(limit: Int) { (self.limit, maximum, capacity) = (limit, limit, limit) }

  /// The connection to close when there is no room for another. Never one whose handler works: the limits of
  /// requests bound these, and so leave connections to scrapes.
  ///
  /// Only a new connection at a full table causes this scan. With the default limit it is faster than the
  /// accept; with 10,000 connections it takes some 0.4 ms.
  func firstToClose(except kept: Connection?) -> Connection? {
    open.values.lazy.filter { $0 !== kept && $0.state.activity != .answering }
      .min { $0.state.closingOrder < $1.state.closingOrder }
  }

  static var descriptorLimit: Int {
    let limit = sysconf(Int32(_SC_OPEN_MAX))
    return limit < 0 ? .max : limit
  }

  /// Reads the limit of descriptors, which the app may change, and ends a shortage after its time.
  mutating func updateCapacity(at instant: ContinuousClock.Instant) {
    let count = Self.descriptorLimit
    reserveBegin = count - min(Self.reserve, count / 4)
    maximum = max(min(limit, reserveBegin), 1)
    if let lastShortage, lastShortage.duration(to: instant) <= Self.shortageDuration { return }
    lastShortage = nil
    capacity = maximum
  }

  /// Notes the descriptor of a new connection. The system gives out the lowest free one: all below a high one
  /// are taken.
  mutating func noteAccepted(_ descriptor: Int32, at instant: ContinuousClock.Instant) {
    if Int(descriptor) >= reserveBegin { noteShortage(at: instant) }
  }

  /// Lowers the capacity below the present number of connections.
  mutating func noteShortage(at instant: ContinuousClock.Instant) {
    capacity = max(min(capacity, open.count - 1), 1)
    lastShortage = instant
  }
}

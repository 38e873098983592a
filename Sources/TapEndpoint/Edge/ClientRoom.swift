#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// How many clients there is room for: as many as configured, but fewer where the process runs out of
/// descriptors.
///
/// The last descriptors are not for clients. The app needs some, and libdispatch ends the process when it
/// cannot make its event descriptors, or cannot open /proc to look at its threads (on Linux,
/// `_dispatch_workq_monitor_pools`).
struct ClientRoom {
  private static let reserve = 32
  /// After that time a scarcity may be over.
  private static let patience = Duration.seconds(5)

  private let limit: Int
  private(set) var capacity: Int
  private var lastScarcity: ContinuousClock.Instant?
  private var reserveBegin = Int.max

  init(limit: Int) {
    self.limit = limit
    capacity = limit
  }

  /// Learns how many descriptors there are, and whether a scarcity may be over.
  mutating func look(at instant: ContinuousClock.Instant) {
    let count = Self.descriptorLimit()
    reserveBegin = count - min(Self.reserve, count / 4)
    if let lastScarcity, lastScarcity.duration(to: instant) > Self.patience {
      capacity = limit
      self.lastScarcity = nil
    }
  }

  /// The system gives out the lowest descriptor that is free: a high one says that all below are taken.
  mutating func accepted(_ descriptor: Int32, clients: Int) {
    if Int(descriptor) >= reserveBegin { shrink(to: clients - 1) }
  }

  /// The system had no descriptor.
  mutating func exhausted(clients: Int) {
    shrink(to: clients - 1)
  }

  private mutating func shrink(to clients: Int) {
    capacity = max(min(capacity, clients), 1)
    lastScarcity = .now
  }

  private static func descriptorLimit() -> Int {
    var limit = rlimit()
    #if canImport(Glibc)
      let result = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    #else
      let result = getrlimit(RLIMIT_NOFILE, &limit)
    #endif
    return result == 0 && limit.rlim_cur < Int.max ? Int(limit.rlim_cur) : .max
  }
}

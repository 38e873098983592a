import TapCore
import TapLibc

/// Waits for descriptors: with epoll(7) on Linux, where idle connections cost nothing, else with poll(2). Both report a
/// descriptor for as long as it is ready.
struct Poller: Sendable {
  /// What a descriptor is ready for. Both calls have the same bits.
  struct Events: OptionSet, Sendable {
    let rawValue: UInt32
    static let input = Events(rawValue: 1)
    static let output = Events(rawValue: 4)
    /// An error or the end of both directions, which are reported even if nothing is asked for.
    static let failure = Events(rawValue: 8 | 16)
  }

  #if canImport(Glibc)
    private static let capacity = 64
    // <sys/epoll.h> packs `struct epoll_event`, a UInt32 and a UInt64, on x86-64 alone. Swift's Glibc module does not have the header.
    #if arch(x86_64)
      private static let (dataOffset, stride) = (4, 12)
    #else
      private static let (dataOffset, stride) = (8, 16)
    #endif
    private typealias Create = @convention(c) (Int32) -> Int32
    private typealias Control = @convention(c) (Int32, Int32, Int32, UnsafeRawPointer?) -> Int32
    private typealias Wait = @convention(c) (Int32, UnsafeMutableRawPointer?, Int32, Int32) -> Int32
    private static let create = dlsym(nil, "epoll_create1").map { unsafeBitCast($0, to: Create.self) }
    private static let control = dlsym(nil, "epoll_ctl").map { unsafeBitCast($0, to: Control.self) }
    private static let wait = dlsym(nil, "epoll_wait").map { unsafeBitCast($0, to: Wait.self) }

    private let descriptor: Int32
    private var buffer = [UInt8](repeating: 0, count: capacity * stride)

    init() throws(System.Failure) {
      // EPOLL_CLOEXEC is O_CLOEXEC.
      let descriptor = try System.uninterrupted { Int(Self.create?(O_CLOEXEC) ?? -1) }
      self.descriptor = try System.aboveStandard(Int32(truncatingIfNeeded: descriptor))
    }

    /// - Returns: `false` if the system has no room for another descriptor.
    mutating func add(_ descriptor: Int32, _ id: UInt64, _ events: Events) -> Bool {
      control(1, descriptor, id, events)
    }

    mutating func change(_ descriptor: Int32, _ id: UInt64, to events: Events) {
      _ = control(3, descriptor, id, events)
    }

    /// Before the descriptor is closed: a child process may have a copy of it until its exec(2), which would be reported on.
    mutating func remove(_ descriptor: Int32) { _ = control(2, descriptor, 0, []) }

    private func control(_ operation: Int32, _ other: Int32, _ id: UInt64, _ events: Events) -> Bool {
      var event = (UInt64(0), UInt64(0))
      return withUnsafeMutableBytes(of: &event) { event in
        event.storeBytes(of: events.rawValue, as: UInt32.self)
        event.storeBytes(of: id, toByteOffset: Self.dataOffset, as: UInt64.self)
        return Self.control?(descriptor, operation, other, event.baseAddress) == 0
      }
    }

    /// Waits for events, but not longer than a time: `nil` is for ever.
    mutating func wait(_ time: Duration?) -> [(id: UInt64, events: Events)] {
      buffer.withUnsafeMutableBytes { buffer in
        let count = Self.wait?(
          descriptor, buffer.baseAddress, Int32(Self.capacity), Self.milliseconds(time))
        return (0..<Int(max(count ?? 0, 0))).map { index in
          let event = UnsafeRawBufferPointer(rebasing: buffer[(index * Self.stride)...])
          return (
            event.loadUnaligned(fromByteOffset: Self.dataOffset, as: UInt64.self),
            Events(rawValue: event.loadUnaligned(as: UInt32.self))
          )
        }
      }
    }

    func close() { System.close(descriptor) }
  #else
    private var entries: [Int32: (id: UInt64, events: Events)] = [:]

    init() throws(System.Failure) {}

    mutating func add(_ descriptor: Int32, _ id: UInt64, _ events: Events) -> Bool {
      entries[descriptor] = (id, events)
      return true
    }

    mutating func change(_ descriptor: Int32, _ id: UInt64, to events: Events) {
      entries[descriptor] = (id, events)
    }

    mutating func remove(_ descriptor: Int32) { entries[descriptor] = nil }

    mutating func wait(_ time: Duration?) -> [(id: UInt64, events: Events)] {
      var requests = entries.map {
        pollfd(fd: $0.key, events: Int16(truncatingIfNeeded: $0.value.events.rawValue), revents: 0)
      }
      guard poll(&requests, nfds_t(requests.count), Self.milliseconds(time)) > 0 else { return [] }
      return requests.compactMap { request in
        guard request.revents != 0, let entry = entries[request.fd] else { return nil }
        return (entry.id, Events(rawValue: UInt32(UInt16(bitPattern: request.revents))))
      }
    }

    func close() {}
  #endif

  /// Rounded up: a deadline has passed when the wait for it is over.
  private static func milliseconds(_ time: Duration?) -> Int32 {
    time.map { Int32(clamping: (max($0.nanoseconds, 0) + 999_999) / 1_000_000) } ?? -1
  }
}

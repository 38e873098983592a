import Dispatch
import TapCore
import TapLibc
import TapLinux

/// Reports which sockets of an event loop are ready, by an epoll(7) instance (on macOS a kqueue(2)). Dispatch
/// watches only that.
///
/// On Linux Dispatch must not watch a socket whose other end is another program's. At a hang-up, such as a
/// reset, its manager thread wakes the source's queue, which frees Dispatch's record of the descriptor, and
/// goes on with that record (`_dispatch_event_merge_fd` in `event_epoll.c`; swift-corelibs-libdispatch#949):
/// a client could end the process. An epoll descriptor never hangs up. It also gathers what is ready, and a
/// socket can be closed at once.
final class Poller {
  struct Events: OptionSet {
    let rawValue: UInt32
    static let input = Events(rawValue: 1)
    static let output = Events(rawValue: 4)
    /// An error, or the end of both directions. Reported even if nothing is asked for.
    static let failure = Events(rawValue: 8 | 16)
  }

  /// The user's number of a socket, by which its events are reported.
  typealias ID = UInt64

  private static let capacity = 64

  private let descriptor: Int32
  private var isOpen = true
  private var source: (any DispatchSourceRead)?
  private var isWatching = true

  /// - Throws: if the process or the system is out of descriptors or memory.
  init() throws(System.Failure) {
    descriptor = try System.aboveStandard(
      Int32(truncatingIfNeeded: try System.uninterrupted { Int(Self.makeDescriptor()) }))
  }

  deinit { close {} }

  /// Calls back on the queue when ``ready()`` has events. Each call ends the watch.
  func begin(on queue: DispatchQueue, onReady: @escaping () -> Void) {
    let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
    source.setEventHandler { [weak self] in
      self?.watch(false)
      onReady()
    }
    source.activate()
    self.source = source
  }

  func watch(_ isWanted: Bool) {
    guard let source, isWanted != isWatching else { return }
    isWatching = isWanted
    if isWanted { source.resume() } else { source.suspend() }
  }

  /// Ends the events for good, then calls back. The sockets stay open.
  func close(then completion: @escaping () -> Void) {
    guard exchange(&isOpen, with: false) else { return completion() }
    let closing: () -> Void = { [descriptor] in
      System.close(descriptor)
      completion()
    }
    guard let source else { return closing() }
    source.setCancelHandler(handler: closing)
    source.cancel()
    // A suspended source must not be released, and calls its cancel handler only once it is resumed, which
    // runs no other.
    watch(true)
    self.source = nil
  }

  #if canImport(Darwin)
    private static func makeDescriptor() -> Int32 { kqueue() }

    func add(_ socket: Int32, _ id: ID, _ events: Events) throws(System.Failure) {
      for (filter, event) in [(EVFILT_READ, Events.input), (EVFILT_WRITE, .output)] {
        let flags = EV_ADD | (events.contains(event) ? EV_ENABLE : EV_DISABLE)
        var change = kevent(
          ident: UInt(socket), filter: Int16(filter), flags: UInt16(flags), fflags: 0, data: 0,
          udata: UnsafeMutableRawPointer(bitPattern: UInt(id)))
        _ = try System.uninterrupted { Int(kevent(descriptor, &change, 1, nil, 0, nil)) }
      }
    }

    func change(_ socket: Int32, _ id: ID, to events: Events) { try? add(socket, id, events) }

    /// The system forgets a descriptor that is closed.
    func remove(_ socket: Int32) {}

    func ready() -> [(id: ID, events: Events)] {
      var now = timespec()
      return withUnsafeTemporaryAllocation(of: kevent.self, capacity: Self.capacity) { buffer in
        let count = kevent(descriptor, nil, 0, buffer.baseAddress, Int32(buffer.count), &now)
        return buffer.prefix(Int(max(count, 0))).map { event in
          let isInput = Int32(event.filter) == EVFILT_READ
          var events: Events = isInput ? .input : .output
          // Where the peer has ended its direction alone, reading says so.
          let failures = isInput ? EV_ERROR : EV_ERROR | EV_EOF
          if Int32(event.flags) & failures != 0 { events.insert(.failure) }
          return (UInt64(UInt(bitPattern: event.udata)), events)
        }
      }
    }
  #else
    private static func makeDescriptor() -> Int32 { tapEpollCreate(O_CLOEXEC) }

    /// - Throws: if the system has no room for another one.
    func add(_ socket: Int32, _ id: ID, _ events: Events) throws(System.Failure) {
      try control(1, socket, id, events)
    }

    func change(_ socket: Int32, _ id: ID, to events: Events) { try? control(3, socket, id, events) }

    /// Before the socket is closed: a child process may have a copy of it until its exec(2), whose events
    /// would be reported.
    func remove(_ socket: Int32) { try? control(2, socket, 0, []) }

    private func control(_ code: Int32, _ socket: Int32, _ id: ID, _ events: Events) throws(System.Failure) {
      var event = TapEpollEvent(events: events.rawValue, data: id)
      _ = try System.uninterrupted { Int(tapEpollControl(descriptor, code, socket, &event)) }
    }

    /// What is ready now, at most 64 sockets.
    func ready() -> [(id: ID, events: Events)] {
      withUnsafeTemporaryAllocation(of: TapEpollEvent.self, capacity: Self.capacity) { buffer in
        let count = tapEpollWait(descriptor, buffer.baseAddress, Int32(buffer.count), 0)
        return buffer.prefix(Int(max(count, 0))).map { ($0.data, Events(rawValue: $0.events)) }
      }
    }
  #endif
}

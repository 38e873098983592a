import Synchronization
import TapCore
import TapLibc

/// Finds the socket of a transfer that goes on, by its ports.
///
/// libcurl does not tell it in all versions (CURLINFO_ACTIVESOCKET is -1 in 7.88), and Foundation keeps it
/// only at the end (``CurlInfo/socket(of:from:)``). So the descriptors of the process are gone through: 4,096
/// at most, and every 100 ms at most, which takes a millisecond. On Foundation's queue, where libcurl's
/// sockets stay what they are.
final class OpenSockets: Sendable {
  static let all = OpenSockets()

  private struct State {
    /// Connected ones, by their local port.
    var descriptors: [Int: Int32] = [:]
    var found = Instant(nanoseconds: .min)
  }

  private let state = Mutex(State())
  private static let limit: Int32 = 4_096
  private static let pause = Duration.milliseconds(100)

  /// - Parameters:
  ///   - port: The local port.
  ///   - peer: The port of the other side.
  func descriptor(from port: Int, to peer: Int, at now: Instant) -> Int32? {
    func fits(_ descriptor: Int32) -> Bool {
      localPort(of: descriptor) == port && peerPort(of: descriptor) == peer
    }
    return state.withLock { state in
      if let known = state.descriptors[port], fits(known) { return known }
      guard now >= state.found.advanced(by: Self.pause) else { return nil }
      let connected = (3..<Self.limit).filter { peerPort(of: $0) != nil }
      let ports = connected.compactMap { descriptor in localPort(of: descriptor).map { ($0, descriptor) } }
      state = State(descriptors: Dictionary(ports) { $1 }, found: now)
      return state.descriptors[port].flatMap { fits($0) ? $0 : nil }
    }
  }
}

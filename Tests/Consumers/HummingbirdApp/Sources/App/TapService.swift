import ServiceLifecycle
import SessionTap

/// A tap in a service group. First in its list: then it is the last to be shut down, and sees the others end.
struct TapService: Service {
  let tap: Tap

  func run() async throws {
    try await cancelWhenGracefulShutdown { try await tap.run() }
  }
}

import Synchronization
import TapLibc

/// Counts SIGHUP, for logs that reopen their file on it.
///
/// An earlier handler of the app is still called: with three arguments if it was installed for three
/// (`SA_SIGINFO`), and once if it was installed for one signal (`SA_RESETHAND`; sigaction(2)). A handler may do very
/// little (signal-safety(7)); this one increments a number, which the writer reads before each batch.
enum HangupSignal {
  private typealias Handler =
    @convention(c) (
      Int32, UnsafeMutablePointer<siginfo_t>?, UnsafeMutableRawPointer?
    ) -> Void

  private static let counter = Atomic<Int>(0)
  /// The earlier handler, as an address, or 0; and the flags it was installed with.
  private static let previous = Atomic<Int>(0)
  private static let previousFlags = Atomic<Int32>(0)
  private static var once: Int32 { Int32(truncatingIfNeeded: SA_RESETHAND) }

  static var count: Int { counter.load(ordering: .relaxed) }

  static func install() { _ = installation }

  private static let installation: Void = {
    var action = sigaction()
    guard sigaction(SIGHUP, nil, &action) == 0 else { return }
    // The handler must not initialize these.
    _ = counter.load(ordering: .relaxed)
    previousFlags.store(action.sa_flags, ordering: .relaxed)
    // SIG_DFL and SIG_IGN are 0 and 1: nothing to call.
    let address = unsafeBitCast(action[keyPath: handler], to: Int.self)
    previous.store(address == 1 ? 0 : address, ordering: .relaxed)
    // The mask and the stack stay those of the earlier handler.
    action.sa_flags = (action.sa_flags | SA_SIGINFO | SA_RESTART) & ~once
    action[keyPath: handler] = { HangupSignal.handle($0, $1, $2) }
    sigaction(SIGHUP, &action, nil)
  }()

  private static func handle(
    _ number: Int32, _ information: UnsafeMutablePointer<siginfo_t>?, _ context: UnsafeMutableRawPointer?
  ) {
    counter.wrappingAdd(1, ordering: .relaxed)
    let flags = previousFlags.load(ordering: .relaxed)
    let address =
      flags & once != 0 ? previous.exchange(0, ordering: .relaxed) : previous.load(ordering: .relaxed)
    guard address != 0 else { return }
    if flags & SA_SIGINFO != 0 {
      unsafeBitCast(address, to: Handler.self)(number, information, context)
    } else {
      unsafeBitCast(address, to: (@convention(c) (Int32) -> Void).self)(number)
    }
  }
  /// The handler of three arguments, which shares its place with that of one. Each C library names it differently.
  private static var handler: WritableKeyPath<sigaction, Handler?> {
    #if canImport(Darwin)
      \.__sigaction_u.__sa_sigaction
    #elseif canImport(Musl)
      \.__sa_handler.sa_sigaction
    #else
      \.__sigaction_handler.sa_sigaction
    #endif
  }
}

import Dispatch
import Synchronization
import TapCore
import TapFoundation

/// What is known of a transfer while it lasts.
///
/// The relay notes what passes it, on Foundation's queue. The request's record asks on any thread: this
/// object leads neither to the relay nor to the record, and to the loader weakly, so that asking keeps none
/// of them alive.
///
/// A native loader gives the bytes of a body to its task's delegate directly, and reports neither head nor
/// body of other tasks before the end. So libcurl is looked at before a question, on the one queue on which
/// that is allowed (``CurlInfo/read(_:into:)``). While the app holds that queue, nothing is known: what a
/// look has found counts for two seconds.
final class TransferProgress: RequestProgressSource {
  /// Whether the server's question for credentials is open. Foundation has put another loader on the task
  /// once it is answered, of which nothing is known.
  enum Challenge: Sendable { case none, open, answered }

  /// What libcurl says of a native loader's transfer.
  struct Look: Sendable {
    var at = Instant.never
    var statusCode: Int?
    var requestBodySize: Int64?
    var responseBodySize: Int64?
    var lastActivity: Instant?
    /// The app has been asked whether to follow a redirect.
    var isRedirect = false

    /// Whether nothing has passed between two looks.
    func hasSame(as other: Look) -> Bool {
      (statusCode, requestBodySize, responseBodySize)
        == (other.statusCode, other.requestBodySize, other.responseBodySize)
    }

    /// Nanoseconds.
    func age(at now: Instant) -> Int64 { now.nanoseconds - at.nanoseconds }
  }

  struct State: Sendable {
    var start = Instant.never
    var relay: TransferInfo.Relay
    /// The transfer is among those that the context counts.
    var isCounted = false
    /// The app has suspended the task: the next start sends the request again.
    var isSuspended = false
    /// The loader has reported its end, and Foundation puts no other in its place.
    var isDone = false
    /// When the loader was last started, or last reported something.
    var lastActivity: Instant?
    var challenge = Challenge.none
    /// Foundation's queue, where the loader is a native one.
    var queue: DispatchQueue?
    var look: Look?
    var isLooking = false

    /// Nanoseconds since the start.
    func elapsed(at now: Instant) -> Int64 { max(0, now.nanoseconds - start.nanoseconds) }

    /// The loader starts. Returns whether for the first time.
    mutating func begin(at now: Instant) -> Bool {
      defer { (isSuspended, lastActivity) = (false, now) }
      guard start != .never else {
        start = now
        return true
      }
      // To resume a task that runs starts nothing.
      guard isSuspended else { return false }
      relay.restart = max(1, elapsed(at: now))
      (relay.statusCode, relay.head, look) = (nil, nil, nil)
      return false
    }

    /// The head of a response has come. That of an interim one is not the answer (RFC 9110, section 15.2).
    mutating func receive(status: Int?, at now: Instant) {
      if let status, (100..<200).contains(status) { return }
      (relay.statusCode, relay.head) = (status, elapsed(at: now))
    }

    /// Whether libcurl is to be looked at now: at most once in a second.
    mutating func beginLook(at now: Instant) -> Bool {
      guard queue != nil, !isLooking, !isDone, challenge == .none, start != .never else { return false }
      if let look, look.age(at: now) < 1_000_000_000 { return false }
      isLooking = true
      return true
    }

    func progress(at now: Instant) -> RequestProgress {
      let look = look.flatMap { $0.age(at: now) < 2_000_000_000 ? $0 : nil }
      let activity = [lastActivity, look?.lastActivity].compactMap(\.self).max()
      var progress = RequestProgress(
        wait: wait(look), statusCode: relay.statusCode ?? look?.statusCode,
        // Of what a native loader sends and gets without its client, only a look tells.
        lastActivity: queue == nil || look?.lastActivity != nil ? activity : nil)
      progress.requestBodySize = look?.requestBodySize
      progress.responseBodySize = queue == nil ? relay.loadedBytes : look?.responseBodySize
      return progress
    }

    private func wait(_ look: Look?) -> RequestWait? {
      if start == .never { return .start }
      if isSuspended || isDone { return nil }
      switch challenge {
      case .open: return .credentials
      case .answered: return nil
      case .none: break
      }
      if look?.isRedirect == true { return .redirect }
      if relay.head != nil || look?.statusCode != nil { return .body }
      return queue == nil || look != nil ? .response : nil
    }
  }

  let state: Mutex<State>
  private let method: String
  private let curl: CurlInfo?
  /// Set at the start and read in a look, both on Foundation's queue.
  private nonisolated(unsafe) weak var loader: URLProtocol?

  init(method: String, isSecure: Bool, curl: CurlInfo?) {
    (self.method, self.curl) = (method, curl)
    state = Mutex(State(relay: TransferInfo.Relay(isSecure: isSecure)))
  }

  /// A native loader has started. On Foundation's queue.
  func follow(_ loader: URLProtocol, on queue: DispatchQueue?, isCounted: Bool) {
    self.loader = loader
    state.withLock { ($0.queue, $0.isCounted) = (queue, isCounted) }
  }

  var progress: RequestProgress { state.withLock { $0.progress(at: .now) } }

  func look(then done: @escaping @Sendable () -> Void) {
    let (begins, queue) = state.withLock { ($0.beginLook(at: .now), $0.isLooking ? $0.queue : nil) }
    guard let queue else { return done() }
    // Behind a look that another question has begun.
    queue.async {
      if begins { self.look() }
      done()
    }
  }

  /// On Foundation's queue.
  private func look() {
    let begun = state.withLock { (start: $0.start, restart: $0.relay.restart, look: $0.look) }
    let found = loader.flatMap { look(at: $0, begun: (begun.start, begun.restart), after: begun.look) }
    state.withLock { state in
      state.isLooking = false
      // What libcurl says of a transfer that is over has been read, by the relay.
      if !state.isDone, state.challenge == .none, let found { state.look = found }
    }
  }

  private func look(
    at loader: URLProtocol, begun: (start: Instant, restart: Int64), after before: Look?
  ) -> Look? {
    var transfer = TransferInfo()
    curl?.read(loader, into: &transfer)
    guard let curl, transfer.isNative else { return nil }
    let now = Instant.now
    var look = Look(at: now, statusCode: transfer.finalStatusCode)
    look.requestBodySize = transfer.requestBodySize(of: loader.task, method: method)
    look.responseBodySize = transfer.receivedBytes
    if transfer.redirectCount > 0 { look.isRedirect = curl.isAskingForRedirect(loader) }
    // libcurl keeps the times of a transfer's phases, from about the start on, or after a redirect or a
    // suspension from later, and none of its last byte: its total goes on while nothing passes. So what has
    // passed between two looks counts as of the second.
    if transfer.redirectCount == 0, begun.restart == 0 {
      let last = max(transfer.preTransfer, transfer.postTransfer ?? 0, transfer.startTransfer)
      look.lastActivity = min(now, begun.start.advanced(by: .nanoseconds(last)))
    }
    if let before {
      look.lastActivity =
        before.hasSame(as: look) ? [before.lastActivity, look.lastActivity].compactMap(\.self).max() : now
    }
    return look
  }
}

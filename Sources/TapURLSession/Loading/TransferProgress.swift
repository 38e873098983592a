import Dispatch
import Synchronization
import TapCore
import TapFoundation

/// What is known of a transfer while it lasts.
///
/// The relay notes what passes it, on Foundation's queue. The request's record asks on any thread. This
/// object leads to the loader, and by that to the relay and the record, only until the task's protocol goes
/// away (``leave()``): so asking keeps none of them alive.
///
/// A native loader gives the bytes of a body to its task's delegate directly, and reports neither head nor
/// body of other tasks before the end. So libcurl is looked at before a question, on the one queue on which
/// that is allowed (``CurlInfo/read(_:into:)``). While the app holds that queue, nothing is known: what a
/// look has found counts for two seconds (``TransferLook``).
final class TransferProgress: RequestProgressSource {
  /// How far the loader has come.
  enum Phase: Sendable {
    /// It has not started.
    case made
    case loading
    /// The app has suspended the task: the next start sends the request again.
    case suspended
    /// The server's question for credentials is open.
    case challenged
    /// It is answered: Foundation has put another loader on the task, of which nothing is known.
    case replaced
    /// The loader has reported its end, and Foundation puts no other in its place.
    case done
  }

  /// Of a native loader.
  struct Native: Sendable {
    /// Used in a look. Not a weak reference: with one, each retain and release of the loader takes longer.
    nonisolated(unsafe) var loader: URLProtocol?
    /// Foundation's queue, on which libcurl may be looked at.
    let queue: DispatchQueue
    private var found: Apart<TransferLook>?
    var isLooking = false

    /// What the last look has found.
    var look: TransferLook? {
      get { found?.value }
      set { found = newValue.map { Apart($0) } }
    }

    init(_ loader: URLProtocol? = nil, queue: DispatchQueue, look: TransferLook? = nil) {
      (self.loader, self.queue) = (loader, queue)
      self.look = look
    }
  }

  /// A value that few requests have, apart from the state of all.
  final class Apart<Value: Sendable>: Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
  }

  struct State: Sendable {
    var phase = Phase.made
    var start = Instant.never
    var relay: TransferInfo.Relay
    /// When the loader was last started, or last reported something.
    var lastActivity: Instant?
    var native: Native?
    private(set) var challenge: Apart<TransferInfo>?
    /// Since when the transfer is among those that the context counts.
    var countedSince: Instant?

    /// Nanoseconds since the start.
    func elapsed(at now: Instant) -> Int64 { max(0, now.nanoseconds - start.nanoseconds) }

    /// The loader starts. Returns whether for the first time.
    mutating func begin(at now: Instant) -> Bool {
      lastActivity = now
      switch phase {
      case .made: start = now
      case .suspended:
        challenge = nil
        relay.restart = max(1, elapsed(at: now))
        (relay.statusCode, relay.head) = (nil, nil)
        native?.look = nil
      // To resume a task that runs starts nothing.
      case .loading, .challenged, .replaced, .done: return false
      }
      defer { phase = .loading }
      return phase == .made
    }

    /// The response of a transfer asks for credentials.
    mutating func beginChallenge(after transfer: TransferInfo) {
      var transfer = transfer
      transfer.isBeforeChallenge = true
      (phase, challenge) = (.challenged, Apart(transfer))
    }

    /// The transfer whose challenge nobody has answered.
    var challengedTransfer: TransferInfo? { phase == .challenged ? challenge?.value : nil }

    mutating func suspend() { if phase == .loading || phase == .challenged { phase = .suspended } }

    /// Foundation makes another loader, which is ours no more.
    mutating func leave() { if phase == .challenged || phase == .suspended { phase = .replaced } }

    /// The head of a response has come. That of an interim one is not the answer (RFC 9110, section 15.2).
    mutating func receive(status: Int?, at now: Instant) {
      if let status, (100..<200).contains(status) { return }
      (relay.statusCode, relay.head) = (status, elapsed(at: now))
    }

    /// Whether libcurl is to be looked at now: at most once in a second.
    mutating func beginLook(at now: Instant) -> Bool {
      guard phase == .loading || phase == .suspended, let native, !native.isLooking else { return false }
      if let look = native.look, look.age(at: now) < 1_000_000_000 { return false }
      self.native?.isLooking = true
      return true
    }

    func progress(at now: Instant) -> RequestProgress {
      let look = native?.look.flatMap { $0.age(at: now) < TransferLook.validity ? $0.found : nil }
      var progress = look ?? RequestProgress()
      progress.statusCode = relay.statusCode ?? progress.statusCode
      progress.wait = wait(look?.wait)
      if native == nil { progress.responseBodySize = relay.loadedBytes }
      // Of what a native loader sends and gets without its client, only a look tells.
      if native == nil || look?.lastActivity != nil {
        progress.lastActivity = [lastActivity, look?.lastActivity].compactMap(\.self).max()
      }
      progress.quietSince = look?.quietSince.map { max($0, lastActivity ?? $0) }
      return progress
    }

    /// - Parameter found: By libcurl.
    private func wait(_ found: RequestWait?) -> RequestWait? {
      switch phase {
      case .made: .start
      case .challenged: .credentials
      case .suspended, .replaced, .done: nil
      case .loading where relay.head != nil && found != .redirect: .body
      case .loading: found ?? (native == nil ? .response : nil)
      }
    }
  }

  let state: Mutex<State>
  let url: String
  let method: String
  private let curl: CurlInfo?

  init(to url: String, method: String, curl: CurlInfo?) {
    (self.url, self.method, self.curl) = (url, method, curl)
    state = Mutex(State(relay: TransferInfo.Relay(isSecure: url.hasPrefix("https:"))))
  }

  /// The host and the port of the request: what libcurl says of some servers' transfers is doubted.
  var server: String {
    let server = URLAuthority(url)
    return "\(server?.host ?? ""):\(server?.port ?? 0)"
  }

  /// A native loader has started. On Foundation's queue.
  func follow(_ loader: URLProtocol, on queue: DispatchQueue?, countedSince start: Instant?) {
    state.withLock { state in
      if let queue { state.native = Native(loader, queue: queue) }
      state.countedSince = start
    }
  }

  /// The task's protocol goes away, and with it the loader, whose client leads here.
  func leave() {
    let loader = state.withLock { state in
      state.leave()
      return state.native?.loader.take()
    }
    // Freed outside the lock.
    withExtendedLifetime(loader) {}
  }

  var progress: RequestProgress { state.withLock { $0.progress(at: .now) } }

  func look(then done: @escaping @Sendable () -> Void) {
    let (begins, native) = state.withLock { ($0.beginLook(at: .now), $0.native) }
    guard let native, native.isLooking else { return done() }
    // Behind a look that another question has begun.
    native.queue.async {
      if begins { self.look() }
      done()
    }
  }

  /// On Foundation's queue.
  private func look() {
    let state = self.state.withLock { $0 }
    let found = state.native?.loader.flatMap { look(at: $0, in: state) }
    self.state.withLock { state in
      state.native?.isLooking = false
      // What libcurl says of a transfer that is over has been read, by the relay.
      if let found, state.phase == .loading || state.phase == .suspended { state.native?.look = found }
    }
  }

  private func look(at loader: URLProtocol, in state: State) -> TransferLook? {
    let now = Instant.now
    var transfer = TransferInfo()
    transfer.relay = state.relay
    guard let curl, !Doubts.ofLibcurl.contains(server, at: now) else { return nil }
    curl.read(loader, into: &transfer)
    guard transfer.isNative else { return nil }
    transfer.elapsed = state.elapsed(at: now)
    let (task, activity) = (loader.task, curl.activity(of: loader))
    let info = connection(of: transfer, at: now)
    let status = transfer.finalStatusCode
    var look = TransferLook(at: now, found: RequestProgress(statusCode: status))
    let isAsking =
      transfer.redirectCount > 0 && status.map { (300..<400).contains($0) } == true
      && curl.foundation.hasAskedForRedirect(loader)
    look.found.wait =
      isAsking
      ? .redirect
      : transfer.wait(
        activity, bodySize: task.flatMap { bodySize(of: $0) },
        // By HTTP/2 it may be another transfer's.
        unsent: transfer.isHTTP1 ? info?.unsentBytes : nil)
    look.found.requestBodySize = transfer.requestBodySize(of: task, method: method)
    look.found.responseBodySize = transfer.receivedBytes
    look.passed = TransferLook.Passed(
      statusCode: transfer.statusCode, isSent: transfer.preTransfer > 0, sentBytes: transfer.sentBytes,
      receivedBytes: transfer.receivedBytes, headSize: activity.headSize)
    look.noteActivity(kernel: info?.lastActivity(of: transfer, at: now), after: state.native?.look)
    return look
  }

  /// What the kernel knows of the connection of a request that has been sent, or is being sent.
  private func connection(of transfer: borrowing TransferInfo, at now: Instant) -> TCPInfo? {
    guard TCPInfo.isUsed, transfer.preTransfer > 0, let port = transfer.localPort, let peer = transfer.peer
    else { return nil }
    return OpenSockets.all.descriptor(from: port, to: peer.port, at: now).flatMap { TCPInfo(of: $0) }
  }

  /// How many bytes the body of a request has; `nil` for a stream.
  private func bodySize(of task: URLSessionTask) -> Int64? {
    if method == "HEAD" || method == "GET" { return 0 }
    let expected = task.countOfBytesExpectedToSend
    if expected > 0 { return expected }
    return task is URLSessionUploadTask || task.originalRequest?.httpBodyStream != nil ? nil : 0
  }
}

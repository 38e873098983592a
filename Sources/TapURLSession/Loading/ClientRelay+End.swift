import Dispatch
import Synchronization
import TapCore
import TapFoundation

/// The end of a request: compares the witnesses of its transfer, and records the result.
extension ClientRelay {
  /// - Returns: Whether the loader had not reported its end before.
  func cutShort(_ loader: URLProtocol, by error: any Error, isLast: Bool) -> Bool {
    let now = Instant.now
    var transfer = TransferInfo()
    transfer.end = (error as? URLError)?.code == .cancelled ? .cancelled : .failed
    guard readUnlessDone(&transfer, of: loader, at: now, isLast: isLast) else { return false }
    transfer.discountRefusedRedirect()
    if let challenged = progress.state.withLock({ $0.challengedTransfer }) { transfer = challenged }
    end(&transfer, of: loader.task, nil, error, at: now)
    return true
  }

  private static let watchQueue = DispatchQueue(label: "session-tap.challenged-tasks", qos: .utility)

  /// Watches a task whose server asked for credentials until it has ended.
  ///
  /// Once a challenge is answered, Foundation serves the task with a new native loader that does not have our
  /// client: only `state`, `error` and `response` of the task show its end. They are read again after a
  /// fiftieth of the time that has passed, so the measured duration is at most 2% or 1 ms late. The task is
  /// retained until its last reading, because its end would be lost with it; while it runs, its session
  /// retains it anyway. From Swift 6.3.2 on a task without a credential ends by itself, with the 401; before,
  /// it never ends.
  func watch(_ task: URLSessionTask, since start: Instant = .now) {
    guard requests.areActive else {
      leave(at: .now)
      return
    }
    switch task.state {
    case .canceling, .completed: end(of: task)
    default:
      let pause = max(.milliseconds(1), start.duration(to: .now) / 50)
      Self.watchQueue.asyncAfter(deadline: .now() + pause / .seconds(1)) { self.watch(task, since: start) }
    }
  }

  private func end(of task: URLSessionTask) {
    let error = task.state == .canceling ? URLError(.cancelled) : task.error
    let response = error == nil ? task.response as? HTTPURLResponse : nil
    var transfer = progress.state.withLock { $0.challengedTransfer } ?? TransferInfo()
    // Until the challenge is answered, the head that came last is that of the 401.
    if progress.state.withLock({ $0.phase == .challenged }) { transfer.relay.statusCode = 401 }
    end(&transfer, of: task, response, error, at: .now)
  }

  /// Notes what the tap has seen, and libcurl's info; a response from the session's cache has none. In place,
  /// because copying a transfer costs as much as reading it.
  ///
  /// - Parameter isLast: The loader reports its end now.
  /// - Returns: `false`, with nothing read, if the loader has reported its end before.
  func readUnlessDone(
    _ transfer: inout TransferInfo, of loader: URLProtocol, at now: Instant, isLast: Bool
  ) -> Bool {
    let (isFirst, hasStarted) = progress.state.withLock { state in
      if state.phase == .done { return (false, false) }
      defer { if isLast { state.phase = .done } }
      (transfer.relay, transfer.elapsed) = (state.relay, state.elapsed(at: now))
      return (true, state.phase != .made)
    }
    if isFirst, !hasStarted, isLast, transfer.end != .cancelled {
      // The loader reports its end as it is made.
      requests.forEach { $0.record.begin(at: now) }
    }
    if hasStarted, !transfer.relay.isFromCache {
      context.curl?.read(loader, into: &transfer)
      if transfer.isNative, Doubts.ofLibcurl.contains(progress.server, at: now) { transfer.discardInfo() }
    }
    return isFirst
  }

  /// Discards libcurl's info of a transfer if other sources contradict it. Behind a redirect another server
  /// has answered, so that says nothing of the request's server.
  func compare(_ transfer: inout TransferInfo, with response: HTTPURLResponse?, at now: Instant) {
    if transfer.agrees(with: response) {
      Witness.libcurl.noteAgreement()
      // Without a response only the times were compared.
      if response != nil, transfer.redirectCount == 0 { Doubts.ofLibcurl.noteAgreement(of: progress.server) }
      return
    }
    Witness.libcurl.noteContradiction()
    let server = progress.server
    if transfer.redirectCount == 0, Doubts.ofLibcurl.noteContradiction(of: server, at: now) {
      report("libcurl's info of transfers from \(server) contradicts the responses: not used for ten minutes")
    }
    transfer.discardInfo()
  }

  /// Tells the taps which info of libcurl or the kernel is not believed.
  func report(_ disbelief: String) {
    requests.forEach { $0.tap.configuration.reportDisbelief?(disbelief) }
  }

  /// Ends the request, with what is known of the transfer. Without an error the whole response has arrived.
  func end(
    _ transfer: inout TransferInfo, of task: URLSessionTask?, _ response: HTTPURLResponse?,
    _ error: (any Error)?, at now: Instant
  ) {
    transfer.hadFreeConnection = leave(at: now) && context.seesAllRequests
    if transfer.isNative, !transfer.isBeforeChallenge { complete(&transfer, task, response, at: now) }
    let phases = TransferPhases(of: transfer)
    let statusCode = transfer.finalStatusCode ?? response?.statusCode ?? transfer.relay.statusCode
    let end: RequestEnd =
      switch error {
      case nil: .response(statusCode: statusCode)
      case let error as URLError where error.code == .cancelled: .cancelled
      case let error?: .failure(RequestErrorType(error), statusCode: statusCode)
      }
    // Only of native loaders: the error of an app's own loader may contain secrets.
    let isLoadedByFoundation = transfer.isNative || transfer.isDiscarded
    let failure = isLoadedByFoundation && end != .cancelled ? error as? URLError : nil
    let hasHead = transfer.finalStatusCode != nil
    let message =
      failure?.curlMessage ?? failure?.timeoutMessage(context.curl?.timeout(of: task), hasHead: hasHead)
    let hasResponse = transfer.isNative || response != nil || transfer.relay.loadedBytes != nil
    let sent = hasResponse ? transfer.requestBodySize(of: task, method: progress.method) : nil
    let received = transfer.responseBodySize(method: progress.method, response)
    let headers = context.keepsHeaders ? response?.allHeaderFields as? [String: String] ?? [:] : [:]
    requests.forEach { request in
      request.record.end(end, at: now) { observation in
        if end == .cancelled { observation.headStatusCode = statusCode }
        observation.errorMessage = message
        (observation.requestBodySize, observation.responseBodySize) = (sent, received)
        observation.isFromCache = transfer.relay.isFromCache
        observation.timeToFirstByte = (phases.firstByte ?? transfer.relay.head).map { .nanoseconds($0) }
        if request.tap.configuration.collectsHeaders { observation.responseHeaders = headers }
        guard transfer.isNative else { return }
        observation.protocolVersion = transfer.protocolVersion
        observation.peerAddress = transfer.peer?.address
        observation.openedConnections = transfer.connectionCount
        observation.isConnectionReused = transfer.isConnectionReused
        observation.resendCount = transfer.redirectCount
        if transfer.resend > 0 { observation.timeToResend = .nanoseconds(transfer.resend) }
        observation.networkRoundTrip = transfer.connection?.info.roundTrip.map { .nanoseconds($0) }
        observation.retransmittedSegments = transfer.connection?.retransmittedSegments
        observation.timings = phases.timings
        if transfer.end != .complete, !transfer.isRedirectRefused { observation.cutOffPhase = phases.last }
      }
    }
  }

  /// Adds what the task and the kernel know.
  private func complete(
    _ transfer: inout TransferInfo, _ task: URLSessionTask?, _ response: HTTPURLResponse?, at now: Instant
  ) {
    if transfer.end != .complete, transfer.sentBytes != 0, let expected = task?.countOfBytesExpectedToSend {
      transfer.bodySize = expected > 0 ? expected : nil
    }
    if transfer.relay.isSecure, transfer.elapsed >= TCPInfo.resolution {
      // One of the sides wants the connection closed after the response (RFC 9112, section 9.6).
      let (name, response) = ("Connection", response ?? task?.response as? HTTPURLResponse)
      let values = [
        task?.originalRequest?.value(forHTTPHeaderField: name), response?.value(forHTTPHeaderField: name),
      ]
      transfer.isClosing = values.contains { $0?.lowercased().contains("close") == true }
    }
    switch context.connections.read(transfer, at: now, socket: { context.curl?.socket(of: task, from: $0) }) {
    case .read(let reading): transfer.connection = reading
    case .none: break
    case .contradiction(true):
      report("what the kernel says of connections contradicts libcurl: not used in this process any more")
      fallthrough
    case .unknown, .contradiction:
      requests.forEach { $0.tap.configuration.unknownConnections?.increment() }
    }
  }

  /// The transfer needs no connection any more. Returns whether no others could make it wait
  /// (``TransferCount``).
  @discardableResult
  func leave(at now: Instant) -> Bool {
    let start = progress.state.withLock { exchange(&$0.countedSince, with: nil) }
    return start.map { context.count.leave(at: now, since: $0) } ?? false
  }
}

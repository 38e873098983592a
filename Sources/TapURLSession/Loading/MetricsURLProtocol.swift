import TapCore
import TapFoundation

/// The metrics URLProtocol: a tap on the loader that would have served the task without it.
///
/// It builds that loader for the same task, hands it a relay as its client, and forwards every call both
/// ways. The task owns this object, this its loader and the relay, the loader the relay as well, and that the
/// original client. One reference leads back: the relay's ``TransferProgress`` has the loader for its looks,
/// until this object goes away (``ClientRelay/leaveTask()``). So no end of a request leaves a cycle.
final class MetricsURLProtocol<S: Slot>: URLProtocol, MetricsProtocolClass {
  /// The context of the class, found by the slot, because a generic class has no static storage.
  static var context: TapContext? { ProtocolClasses.context(of: S.self) }

  private var loader: URLProtocol?
  private var relay: ClientRelay?

  /// `nil` once the loader has reported its end.
  ///
  /// A task that is cancelled at the moment of its end reports a failure to its protocol's client a second
  /// time. Foundation's own client ends the process if the task is completed by then
  /// (`URLSession.behaviour(for:)`, "not in the registry"). The relay drops the same report of the loader.
  override var client: (any URLProtocolClient)? {
    get { relay?.isDone == true ? nil : super.client }
    set { super.client = newValue }
  }

  deinit { relay?.leaveTask() }

  override class func canInit(with request: URLRequest) -> Bool {
    // Runs under a lock of the whole process: ask, and touch no session.
    guard let context else { return false }
    let trace = TraceContext.ofCurrentWork
    guard let loader = context.accept(request, in: trace) else { return false }
    if trace != nil || context.nativeFirst == nil {
      CarriedRequests.shared.add(.init(trace: trace, loader: loader, context: context))
    } else {
      // What was carried from this queue for an app's own chain of protocols is not of this request.
      _ = CarriedRequests.shared.take(from: .current)
    }
    return true
  }

  override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

  required init(request: URLRequest, cachedResponse: CachedURLResponse?, client: (any URLProtocolClient)?) {
    super.init(request: request, cachedResponse: cachedResponse, client: client)
  }

  required init(task: URLSessionTask, cachedResponse: CachedURLResponse?, client: (any URLProtocolClient)?) {
    let request = task.originalRequest ?? URLRequest(url: URL(fileURLWithPath: "/"))
    super.init(request: request, cachedResponse: cachedResponse, client: client)
    self.task = task
    let carried = CarriedRequests.shared.take(from: TaskQueue(of: task))
    guard let context = Self.context, let originalClient = super.client else { return }
    let relay = ClientRelay(to: originalClient, request, in: carried?.trace, context: context)
    self.relay = relay
    let isOfContext = carried?.context == ObjectIdentifier(context)
    guard let loaderClass = isOfContext ? carried?.loader : context.loader(for: request) else { return }
    loader = loaderClass.init(task: task, cachedResponse: cachedResponse, client: relay)
  }

  /// Called again by Foundation when a suspended task resumes.
  override func startLoading() {
    guard let loader else {
      // A native loader takes what no other does, so there is always one. Without any the task must end.
      client?.urlProtocol(self, didFailWithError: URLError(.unsupportedURL))
      return
    }
    relay?.start(loader)
    loader.startLoading()
  }

  /// Called for a cancel and for a suspension alike, and by some paths before any start.
  override func stopLoading() {
    guard let loader, let relay else { return }
    let state = task?.state
    if state != .suspended, task?.error == nil {
      // For a suspension: by now the task may run again, or is about to be cancelled, which stops the loader
      // once more. A native loader that is stopped without a reason ends the process
      // (`_NativeProtocol.stopLoading`).
      if type(of: loader) != TapContext.nativeHTTP { loader.stopLoading() }
      return
    }
    switch state {
    case .canceling: relay.cancel(loader)
    case .suspended: relay.suspend(loader)
    default: loader.stopLoading()
    }
  }
}

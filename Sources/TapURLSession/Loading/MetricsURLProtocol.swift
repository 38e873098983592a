import Synchronization
import TapFoundation

/// The metrics URLProtocol: a tap on the loader that would have served the task without it.
///
/// It builds that loader for the same task, hands it a relay as its client, and forwards every call both ways.
/// Nothing is sent a second time: the caller's connections, cookies, cache, timeouts and delegate stay in use.
///
/// Ownership runs one way, so that no end of a request can leave a cycle behind: the task owns this object,
/// this object its loader, the loader the relay, the relay the original client.
final class MetricsURLProtocol<S: Slot>: URLProtocol, MetricsProtocolClass {
  /// What the class stands for: found by the slot, since a generic class stores nothing of its own.
  static var context: TapContext? { ProtocolClasses.context(of: S.self) }

  private var loader: URLProtocol?
  private var relay: ClientRelay?

  /// `nil` once the loader has reported its end.
  ///
  /// A task that is cancelled at the moment of its end reports a failure to the client of its protocol a second time.
  /// Foundation's own client ends the process if the task is completed by then (`URLSession.behaviour(for:)`, "not in
  /// the registry"). The relay keeps it from the same report by the loader.
  override var client: (any URLProtocolClient)? {
    get { relay?.isDone == true ? nil : super.client }
    set { super.client = newValue }
  }

  override class func canInit(with request: URLRequest) -> Bool {
    // Runs under a lock of the whole process: ask, and touch no session.
    context?.accepts(request) ?? false
  }

  override class func canonicalRequest(for request: URLRequest) -> URLRequest {
    request
  }

  override class func requestIsCacheEquivalent(_ a: URLRequest, to b: URLRequest) -> Bool {
    a == b
  }

  required init(request: URLRequest, cachedResponse: CachedURLResponse?, client: (any URLProtocolClient)?) {
    super.init(request: request, cachedResponse: cachedResponse, client: client)
  }

  required init(task: URLSessionTask, cachedResponse: CachedURLResponse?, client: (any URLProtocolClient)?) {
    let request = task.originalRequest ?? URLRequest(url: URL(fileURLWithPath: "/"))
    super.init(request: request, cachedResponse: cachedResponse, client: client)
    self.task = task
    guard let context = Self.context, let originalClient = super.client else { return }
    let relay = ClientRelay(to: originalClient, request: request, context: context)
    guard
      let loader = context.makeLoader(
        for: task, request: request, cachedResponse: cachedResponse, client: relay)
    else { return }
    (self.loader, self.relay) = (loader, relay)
  }

  /// Called again by Foundation when a suspended task resumes.
  override func startLoading() {
    guard let loader else {
      // A class of the app's took the request in `canInit` and refuses it now. A task must never hang.
      client?.urlProtocol(self, didFailWithError: URLError(.unsupportedURL))
      return
    }
    relay?.start(loader)
    loader.startLoading()
  }

  /// Called for a cancel and for a suspension alike, and by some paths before any start.
  override func stopLoading() {
    guard let loader else { return }
    switch task?.state {
    case .canceling: relay?.cancelled(loader)
    case .suspended: break
    default:
      // The native loader ends the process when it is stopped without a reason (`_NativeProtocol.stopLoading`): by the
      // time that a suspension gets here, the task may run again.
      if task?.error == nil, type(of: loader) == TapContext.nativeHTTP { return }
    }
    loader.stopLoading()
  }
}

/// The process's table from a metrics protocol class to the taps behind it.
///
/// The table only grows: a session may hold a class for as long as it lives without our knowing, and the
/// runtime never frees the metadata of a generic class. It stays small because the same taps, clients and
/// list of classes get the same class again, because ``URLSessionTap`` bounds its client names, and because a tap
/// that stops leaves an entry without taps.
enum ProtocolClasses {
  /// By the number of the class's slot, from 1 on.
  private static let contexts = Mutex<[TapContext]>([])

  /// The class that stands for these taps before these loaders. A tap that has stopped is left out: it may have been
  /// forgotten since the context was made.
  static func metricsClass(for context: TapContext) -> URLProtocol.Type {
    let number = contexts.withLock { contexts in
      let context = context.clients.filter(\.tap.isStopped).reduce(context) { $0.without($1.tap) }
      if let known = contexts.firstIndex(where: context.isEquivalent) { return known + 1 }
      contexts.append(context)
      return contexts.count
    }
    func metricsClass<S: Slot>(over slot: S.Type) -> URLProtocol.Type { MetricsURLProtocol<S>.self }
    return metricsClass(over: slot(number))
  }

  /// Takes a tap that has stopped out of the table. Its classes stay valid: sessions that hold them go on, without it.
  static func forget(_ tap: URLSessionTap) {
    let contextsBefore = contexts.withLock { contexts in
      let before = contexts
      contexts = before.map { context in
        context.clients.contains { $0.tap === tap } ? context.without(tap) : context
      }
      return before
    }
    // Freed outside the lock.
    withExtendedLifetime(contextsBefore) {}
  }

  /// What a metrics protocol class stands for, or `nil` if the class is none of ours.
  static func context(of someClass: AnyClass) -> TapContext? {
    (someClass as? any MetricsProtocolClass.Type)?.context
  }

  /// What the class over a slot stands for.
  fileprivate static func context<S: Slot>(of slot: S.Type) -> TapContext? {
    contexts.withLock { $0.indices.contains(slot.number - 1) ? $0[slot.number - 1] : nil }
  }

  /// The slot for a number from 1 up. The depth of the type is the number's bit width.
  private static func slot(_ number: Int) -> any Slot.Type {
    func append<High: Slot>(_ digit: Int, to high: High.Type) -> any Slot.Type {
      digit == 0 ? Bit0<High>.self : Bit1<High>.self
    }
    return number == 0 ? Zero.self : append(number & 1, to: slot(number >> 1))
  }
}

/// A class of the table.
private protocol MetricsProtocolClass: URLProtocol {
  static var context: TapContext? { get }
}

/// A number at the type level.
///
/// Foundation makes a URLProtocol from its class alone, and a class is all that a configuration carries. So
/// each patched configuration gets a class of its own: `MetricsURLProtocol` over another slot. Slots are
/// binary numerals built when needed, so there are as many as memory holds, and no runtime trick is involved.
protocol Slot: SendableMetatype {
  /// The number that it was made for.
  static var number: Int { get }
}

/// The numeral before its first digit.
enum Zero: Slot {
  static var number: Int { 0 }
}

/// `High` followed by the binary digit 0.
enum Bit0<High: Slot>: Slot {
  static var number: Int { High.number << 1 }
}

/// `High` followed by the binary digit 1.
enum Bit1<High: Slot>: Slot {
  static var number: Int { High.number << 1 | 1 }
}

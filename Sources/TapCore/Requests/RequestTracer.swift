import Synchronization

/// Makes a span of each request, where a tracing system records them. The adapter `TapTracing` makes one of
/// any tracer of swift-distributed-tracing.
///
/// The ids of the span travel in `traceparent`, so it begins before the request. It is the context's
/// ``TraceContext/span``, and ``RequestObserver/requestEnded(_:)`` ends it, with the request that has the
/// context, on a thread for the tracer alone. A span whose request is not sent is released, on any thread,
/// also under locks: a `deinit` that ends the span must do so elsewhere, such as in a `Task`.
public protocol RequestTracer: RequestObserver {
  /// The trace that the current work belongs to, if there is one: by default ``TraceContext/current``. Asked
  /// for each request of a URLSession, on the app's thread and under locks of Foundation's: it must not wait,
  /// nor make a request.
  var currentTrace: TraceContext? { get }
  /// Begins the span of a request that the app is about to make, in the current context of its task. Called
  /// on the app's thread: it must not wait.
  func beginClientSpan() -> TraceContext
  /// Begins the span of a request that the app has made without a trace, within what was its
  /// ``currentTrace``. Called as that is, and on other threads. By default, ``beginClientSpan()`` with
  /// ``TraceContext/current`` set.
  func beginClientSpan(in parent: TraceContext) -> TraceContext
  /// Begins the span of a request that the app serves. Called on the app's thread: it must not wait.
  ///
  /// - Parameters:
  ///   - method: The method as received.
  ///   - headers: The value of a request header by its name in lowercase, or `nil`: `traceparent`, and
  ///     whatever else the app's middleware gives.
  func beginServerSpan(method: String, headers: (String) -> String?) -> TraceContext
}

extension RequestTracer {
  /// ``TraceContext/current``.
  public var currentTrace: TraceContext? { TraceContext.current }

  /// ``beginClientSpan()``, where ``TraceContext/current`` is `parent`.
  public func beginClientSpan(in parent: TraceContext) -> TraceContext {
    TraceContext.$current.withValue(parent) { beginClientSpan() }
  }
}

/// The sources of new requests' traces: the newest recorder that has a tracer, the newest one that samples,
/// of those that live and have not been shut down, and what an adapter finds.
enum NewestTracing {
  private struct Recorder { weak var value: RequestRecorder? }
  private struct State {
    /// The newest last.
    var tracing: [Recorder] = []
    var sampling: [Recorder] = []
    var findTrace: (@Sendable () -> TraceContext?)?

    mutating func remove(_ recorder: RequestRecorder?) {
      tracing.removeAll { $0.value == nil || $0.value === recorder }
      sampling.removeAll { $0.value == nil || $0.value === recorder }
    }
  }
  private static let state = Mutex(State())
  /// Whether there is a tracer, or something finds traces. Most apps have neither: then each request reads
  /// this, and no state.
  private static let hasSources = Atomic(false)

  private static func change(_ body: (inout State) -> Void) {
    state.withLock { state in
      body(&state)
      hasSources.store(!state.tracing.isEmpty || state.findTrace != nil, ordering: .releasing)
    }
  }

  static func note(_ recorder: RequestRecorder) {
    change { state in
      state.remove(nil)
      if recorder.tracer != nil { state.tracing.append(Recorder(value: recorder)) }
      if recorder.traceSamplingRate > 0 { state.sampling.append(Recorder(value: recorder)) }
    }
  }

  static func forget(_ recorder: RequestRecorder) { change { $0.remove(recorder) } }

  static func find(by find: @escaping @Sendable () -> TraceContext?) {
    change { $0.findTrace = find }
  }

  /// The tracer, and what finds an adapter's trace.
  static var sources: (tracer: (any RequestTracer)?, findTrace: (@Sendable () -> TraceContext?)?) {
    guard hasSources.load(ordering: .acquiring) else { return (nil, nil) }
    let (recorder, findTrace) = state.withLock { (newest(of: $0.tracing), $0.findTrace) }
    return (recorder?.tracer, findTrace)
  }

  static var samplingRate: Double { state.withLock { newest(of: $0.sampling) }?.traceSamplingRate ?? 0 }

  private static func newest(of recorders: [Recorder]) -> RequestRecorder? {
    for recorder in recorders.reversed() { if let living = recorder.value { return living } }
    return nil
  }
}

/// A consumer, or an observer of an app's own, which calls back. ``RecordingObserver`` keeps what it hears.
package final class CallingObserver: RequestConsumer {
  private let started: @Sendable (RequestDescription) -> Void
  private let ended: @Sendable (RequestObservation) -> Void

  package init(
    started: @escaping @Sendable (RequestDescription) -> Void = { _ in },
    ended: @escaping @Sendable (RequestObservation) -> Void = { _ in }
  ) {
    (self.started, self.ended) = (started, ended)
  }

  package func requestStarted(_ request: RequestDescription) { started(request) }

  package func requestEnded(_ observation: RequestObservation) { ended(observation) }
}

/// A tracer that makes the traces that it is told to, and random ones otherwise.
package struct CallingTracer: RequestTracer {
  package var current: @Sendable () -> TraceContext? = { TraceContext.current }
  package var client: @Sendable () -> TraceContext = { .random() }
  package var clientInParent: @Sendable (TraceContext) -> TraceContext = { _ in .random() }
  package var server: @Sendable (_ method: String, (String) -> String?) -> TraceContext = { _, _ in .random()
  }
  package var ended: @Sendable (RequestObservation) -> Void = { _ in }

  package init() {}

  package var currentTrace: TraceContext? { current() }

  package func beginClientSpan() -> TraceContext { client() }

  package func beginClientSpan(in parent: TraceContext) -> TraceContext { clientInParent(parent) }

  package func beginServerSpan(method: String, headers: (String) -> String?) -> TraceContext {
    server(method, headers)
  }

  package func requestEnded(_ observation: RequestObservation) { ended(observation) }
}

import TestSupport

@testable import TapCore

/// Whose tracer makes the spans of what the app asks for: in a process of its own, where no test has another.
@Suite(.needs(.program)) struct NewestTracerTests {
  private static func tracer(_ trace: TraceContext) -> CallingTracer {
    with(CallingTracer()) {
      $0.client = { trace }
      $0.server = { method, headers in method == "PUT" && headers("a") == "b" ? trace : .random() }
    }
  }

  @Test func `a flush waits for the app's observers and for its tracer`() async {
    await #expect(processExitsWith: .success) {
      for stuck in [0, 1] {
        let gates = [Gate(), Gate()]
        gates[1 - stuck].open()
        let recorder = try RequestRecorder(
          registry: Registry(), consumers: [],
          observers: [CallingObserver(ended: { _ in gates[0].waitBlocking() })],
          tracer: with(CallingTracer()) { $0.ended = { _ in gates[1].waitBlocking() } })
        recorder.inbound.begin(method: "GET", path: "/").end(statusCode: 200)
        recorder.drain()
        #expect(!recorder.flushObservers(until: .now.advanced(by: .milliseconds(50))))
        gates[stuck].open()
        #expect(recorder.flushObservers(until: .now.advanced(by: .seconds(60))))
      }
    }
  }

  private static func recorder(
    _ tracer: CallingTracer? = nil, rate: Double = 0, in registry: Registry = Registry()
  ) throws -> RequestRecorder {
    try RequestRecorder(registry: registry, consumers: [], tracer: tracer, traceSamplingRate: rate)
  }

  /// Whether this trace comes from the tracer in effect, beside the rate in effect.
  private static func isInEffect(_ trace: TraceContext, rate: Double) -> Bool {
    TraceContext.next() == trace && NewestTracing.samplingRate == rate
  }

  @Test func `the newest recorder that lives, with a tracer or a rate, is in effect until it is shut down`()
    async
  {
    await #expect(processExitsWith: .success) {
      let (first, second) = (TraceContext.random(), TraceContext.random())
      weak var released: RequestRecorder?
      do {
        let recorders = [
          try Self.recorder(Self.tracer(first)), try Self.recorder(Self.tracer(second), rate: 1),
          try Self.recorder(),
        ]
        released = recorders[1]
        #expect(Self.isInEffect(second, rate: 1) && TraceContext.ofCurrentWork == nil)
        // It reads what headers it likes.
        let served = recorders[0].inbound.begin(method: "PUT", path: "/") { $0 == "a" ? "b" : nil }
        #expect(served.trace == first)
        served.end(statusCode: 200)
        // A request that waits to be recorded keeps its recorder.
        recorders[0].drain()
        TraceContext.$current.withValue(first) { #expect(TraceContext.ofCurrentWork == first) }
        // One that is refused takes the place of none.
        let registry = Registry()
        let known = try Self.recorder(Self.tracer(first), in: registry)
        #expect(throws: RegistryError.self) {
          try Self.recorder(Self.tracer(second), rate: 0.5, in: registry)
        }
        #expect(Self.isInEffect(first, rate: 1))
        // Where the newest is gone, or was shut down, an older one that lives has its turn.
        known.stopTracing()
        #expect(Self.isInEffect(second, rate: 1))
        do {
          let newest = try Self.recorder(Self.tracer(first), rate: 0.5)
          #expect(Self.isInEffect(first, rate: 0.5))
          withExtendedLifetime(newest) {}
        }
        #expect(Self.isInEffect(second, rate: 1))
        withExtendedLifetime((recorders, known)) {}
      }
      #expect(released == nil)
      let own = TraceContext.next()
      #expect(own != second && !own.isSampled)
      let sampling = try Self.recorder(rate: 1)
      #expect(TraceContext.next().isSampled)
      withExtendedLifetime(sampling) {}
    }
  }
}

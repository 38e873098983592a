import TestSupport

@testable import TapCore

/// Whose tracer makes the spans of what the app asks for: in a process of its own, where no test has another.
@Suite(.needs(.program)) struct NewestTracerTests {
  private struct Tracer: RequestTracer {
    let trace: TraceContext

    func beginClientSpan() -> TraceContext { trace }
    func beginServerSpan(method: String, headers: (String) -> String?) -> TraceContext { trace }
    func requestEnded(_ observation: RequestObservation) {}
  }

  @Test func `the newest recorder with a tracer or a rate is in effect, for as long as it lives`() async {
    await #expect(processExitsWith: .success) {
      func recorder(_ tracer: Tracer? = nil, rate: Double = 0) throws -> RequestRecorder {
        try RequestRecorder(
          registry: Registry(), consumers: [], tracer: tracer, traceSamplingRate: rate)
      }
      let (first, second) = (TraceContext.random(), TraceContext.random())
      weak var released: RequestRecorder?
      do {
        let recorders = [
          try recorder(Tracer(trace: first)), try recorder(Tracer(trace: second), rate: 1), try recorder(),
        ]
        released = recorders[1]
        #expect(TraceContext.next() == second)
        #expect(RequestRecorder.newestSamplingRate == 1)
        #expect(TraceContext.ofCurrentWork == nil)
        TraceContext.$current.withValue(first) { #expect(TraceContext.ofCurrentWork == first) }
        withExtendedLifetime(recorders) {}
      }
      #expect(released == nil)
      let own = TraceContext.next()
      #expect(own != second && !own.isSampled)
    }
  }
}

import TestSupport

@Suite struct TraceContextTests {
  @Test(arguments: [
    ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", true),
    ("00-00000000000000000000000000000001-0000000000000001-00", false),
    ("00-ffffffffffffffffffffffffffffffff-ffffffffffffffff-ff", true),
    ("00-80000000000000000000000000000000-8000000000000000-02", false),
    ("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", true),
    ("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what-the-future-brings", true),
  ])
  func `is what a valid header says`(header: String, isSampled: Bool) throws {
    let trace = try #require(TraceContext(traceparent: header))
    let parts = header.split(separator: "-")
    #expect(trace.traceID == parts[1])
    #expect(trace.spanID == parts[2])
    #expect(trace.isSampled == isSampled)
    #expect(trace.traceparent == "00-\(parts[1])-\(parts[2])-\(isSampled ? "01" : "00")")
  }

  @Test(arguments: [
    "", "00", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0",
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-",
    "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
    "00-0af7651916cd43dd8448eb211c80319g-b7ad6b7169203331-01",
    "00-00000000000000000000000000000000-b7ad6b7169203331-01",
    "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
    "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01x",
    "00_0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331_01",
    " 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
  ])
  func `is guessed from nothing else`(header: String) { #expect(TraceContext(traceparent: header) == nil) }

  @Test func `takes no byte for a digit that is none, at any place`() {
    let header = Array("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".utf8)
    let digits = Set("0123456789abcdef".utf8)
    for place in header.indices where digits.contains(header[place]) {
      for byte in UInt8.min...0x7F {
        var other = header
        other[place] = byte
        let text = String(decoding: other, as: UTF8.self)
        // Version 00 has no room for more, and ff is forbidden: the other versions may be as long.
        #expect((TraceContext(traceparent: text) != nil) == digits.contains(byte), "\(text)")
      }
    }
  }

  @Test func `has a child in the same trace`() {
    for isSampled in [true, false] {
      let trace = TraceContext.random(isSampled: isSampled)
      let child = trace.child()
      #expect(child.traceID == trace.traceID)
      #expect(child.spanID != trace.spanID)
      #expect(child.isSampled == isSampled)
      #expect(TraceContext(traceparent: child.traceparent) == child)
    }
  }

  /// As OpenTelemetry's consistent probability sampling has it, so that services keep the same traces.
  @Test func `that is new is sampled by its id, and a higher rate keeps what a lower one keeps`() {
    for rate in [0, -1, -Double.infinity, .nan] {
      #expect(!TraceContext.random(samplingRate: rate).isSampled)
    }
    for rate in [1, 2, Double.infinity] { #expect(TraceContext.random(samplingRate: rate).isSampled) }
    #expect(TraceContext.isKept(0x00c0_0000_0000_0000, at: 0.25))
    #expect(!TraceContext.isKept(0x00bf_ffff_ffff_ffff, at: 0.25))
    let traces = (0..<10_000).map { _ in TraceContext.random(samplingRate: 0.25) }
    #expect(traces.allSatisfy { $0.isSampled == TraceContext.isKept($0.randomness, at: 0.25) })
    #expect(traces.allSatisfy { !$0.isSampled || TraceContext.isKept($0.randomness, at: 0.5) })
    // Ten standard deviations around 2,500.
    #expect((2_067...2_933).contains(traces.count { $0.isSampled }))
    #expect(traces.allSatisfy { $0.randomness == UInt64($0.traceID.suffix(14), radix: 16) })
  }

  @Test func `never repeats an identifier, on eight threads`() {
    let seen = Mutex<(traces: Set<String>, spans: Set<String>)>(([], []))
    DispatchQueue.concurrentPerform(iterations: 8) { _ in
      let contexts = (0..<2_000).map { _ in TraceContext.random() }
      seen.withLock { seen in
        seen.traces.formUnion(contexts.map(\.traceID))
        seen.spans.formUnion(contexts.map(\.spanID))
      }
    }
    let (traces, spans) = seen.withLock { $0 }
    #expect(traces.count == 16_000)
    #expect(spans.count == 16_000)
    #expect(traces.allSatisfy { $0.utf8.count == 32 } && spans.allSatisfy { $0.utf8.count == 16 })
  }

  /// In a process of its own, where no other test makes traces.
  @Test func `an adapter's is the parent where there is no current one`() async {
    await #expect(processExitsWith: .success) {
      let (found, current) = (TraceContext.random(), TraceContext.random())
      TraceContext.findCurrent { found }
      #expect(TraceContext.next().traceID == found.traceID)
      TraceContext.$current.withValue(current) { #expect(TraceContext.next().traceID == current.traceID) }
    }
  }

  @Test func `of the current task is inherited by its children alone`() async {
    #expect(TraceContext.current == nil)
    let trace = TraceContext.random()
    await TraceContext.$current.withValue(trace) {
      async let child = TraceContext.current
      #expect(await child == trace)
      #expect(await Task.detached { TraceContext.current }.value == nil)
    }
    #expect(TraceContext.current == nil)
  }
}

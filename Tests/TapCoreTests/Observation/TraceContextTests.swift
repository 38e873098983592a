import TestSupport

@Suite struct TraceContextTests {
  /// The flags are those that a trace passes on: `sampled` and `random`.
  @Test func `is what a valid header says, and guessed from nothing else`() throws {
    let valid: [(header: String, flags: String, isSampled: Bool)] = [
      ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "01", true),
      ("00-00000000000000000000000000000001-0000000000000001-00", "00", false),
      ("00-ffffffffffffffffffffffffffffffff-ffffffffffffffff-ff", "03", true),
      ("00-80000000000000000000000000000000-8000000000000000-06", "02", false),
      ("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03", "03", true),
      ("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what-the-future-brings", "01", true),
    ]
    for (header, flags, isSampled) in valid {
      let trace = try #require(TraceContext(traceparent: header))
      let (ids, child) = (String(header.dropFirst(3).prefix(49)), trace.child().traceparent)
      let found = [trace.traceparent, "\(trace.traceID)-\(trace.spanID)", "\(trace.isSampled)"]
      expectEqual(found, ["00-\(ids)-\(flags)", ids, "\(isSampled)"])
      // Of the same trace, with the same flags.
      expectEqual([child.prefix(36), child.suffix(2)], ["00-\(ids.prefix(33))", flags[...]])
    }

    let invalid = [
      "", "00", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0",
      "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-",
      "00-00000000000000000000000000000000-b7ad6b7169203331-01",
      "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
      "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
      "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01x",
      " 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    ]
    #expect(invalid.compactMap { TraceContext(traceparent: $0) } == [])
  }

  /// A value that could begin another header is none.
  @Test func `passes on what tracing systems say of it, as it came`() throws {
    let header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    func state(_ state: String?) -> String? {
      TraceContext(traceparent: header, tracestate: state)?.tracestate
    }
    let valid = ["vendor=1,other=2", "a=b , c=d", String(repeating: "a", count: 512)]
    #expect(valid.map(state) == valid)
    let invalid = [nil, "", "a=1\r\nCookie: x", "a=\u{e4}", "a=\0", String(repeating: "a", count: 513)]
    #expect(invalid.compactMap(state) == [])
    let trace = try #require(TraceContext(traceparent: header, tracestate: "a=1"))
    #expect(trace.child().tracestate == "a=1" && trace.withoutSpan.tracestate == nil)
    #expect(trace != TraceContext(traceparent: header) && TraceContext.random().tracestate == nil)
  }

  @Test func `takes no byte for a digit or a dash that is none, at any place`() {
    let header = Array("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".utf8)
    for place in header.indices {
      let dash = UInt8(ascii: "-")
      let taken: Set<UInt8> = header[place] == dash ? [dash] : Set("0123456789abcdef".utf8)
      for byte in UInt8.min...0x7F {
        var other = header
        other[place] = byte
        let text = String(decoding: other, as: UTF8.self)
        // Version 00 has no room for more, and ff is forbidden: the other versions may be as long.
        #expect((TraceContext(traceparent: text) != nil) == taken.contains(byte), "\(text)")
      }
    }
  }

  @Test(arguments: ["00", "01"])
  func `is equal to what has the same ids and flags, whatever span it is of`(flags: String) throws {
    final class Span: Sendable {}
    let header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-\(flags)"
    let plain = try #require(TraceContext(traceparent: header))
    let same = (0..<9).compactMap { _ in TraceContext(traceparent: header, span: Span()) }
    #expect(same.count == 9)
    #expect(same.allSatisfy { $0 == plain && $0.span is Span })
    #expect(same.allSatisfy { $0.withoutSpan == plain && $0.withoutSpan.span == nil })
    let others = [3, 34, 51, 54].compactMap { place in
      var digits = Array(header)
      digits[place] = place < 54 ? "2" : flags == "00" ? "1" : "0"
      return TraceContext(traceparent: String(digits))
    }
    #expect(others.count == 4 && others.allSatisfy { $0 != plain })
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
    #expect(traces.count == 16_000 && spans.count == 16_000)
    #expect(traces.allSatisfy { $0.utf8.count == 32 } && spans.allSatisfy { $0.utf8.count == 16 })
    // No number is made of another: the parts of a trace's id and its spans' tell nothing of each other.
    let parts = traces.flatMap { [String($0.prefix(16)), String($0.suffix(16))] }
    #expect(spans.union(parts).count == 48_000)
  }

  @Test(.needs(.program)) func `is another one in each process`() async throws {
    var ids: [String] = []
    for _ in 0..<2 {
      let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
        print("trace: \(TraceContext.random().traceparent)")
      }
      let text = String(decoding: try #require(result).standardOutputContent, as: UTF8.self)
      ids += text.matches(of: /trace: 00-([0-9a-f]{32}-[0-9a-f]{16})-00/).map { String($0.1) }
    }
    #expect(ids.count == 2 && Set(ids.flatMap { $0.split(separator: "-") }).count == 4)
  }

  /// The first numbers of the published generator with the seed 0.
  @Test func `is mixed as SplitMix64 does it`() {
    let numbers = ([1, 2, 3] as [UInt64]).map { SplitMix64.mix(SplitMix64.step &* $0) }
    #expect(numbers == [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f])
  }

  /// In a process of its own, where no other test makes traces.
  @Test(.needs(.program)) func `a tracer's is the parent, then the current one, then an adapter's`() async {
    await #expect(processExitsWith: .success) {
      let (found, current) = (TraceContext.random(), TraceContext.random())
      func isChild(_ trace: TraceContext, of parent: TraceContext) -> Bool {
        trace.traceID == parent.traceID && trace.spanID != parent.spanID
      }
      TraceContext.findCurrent { found }
      #expect(isChild(.next(), of: found) && TraceContext.ofCurrentWork == found)
      #expect(isChild(.next(in: current), of: current))
      try TraceContext.$current.withValue(current) {
        #expect(isChild(.next(), of: current) && TraceContext.ofCurrentWork == current)
        let (work, spans) = (TraceContext.random(), TraceContext.random())
        let tracer = with(CallingTracer()) {
          $0.current = { work }
          $0.client = { spans.child() }
          $0.clientInParent = { $0 }
        }
        let recorder = try RequestRecorder(registry: Registry(), consumers: [], tracer: tracer)
        #expect(isChild(.next(), of: spans) && TraceContext.ofCurrentWork == work)
        #expect(TraceContext.next(in: found) == found)
        withExtendedLifetime(recorder) {}
      }
      TraceContext.findCurrent { nil }
      #expect(!isChild(.next(), of: found) && TraceContext.ofCurrentWork == nil)
    }
  }
}

import TestSupport

@Suite struct RequestTimingsTests {
  @Test func `a phase that is taken back is unknown again`() {
    var timings = RequestTimings()
    timings[.connect] = .zero
    timings[.transfer] = .milliseconds(5)
    #expect(timings[.connect] == .zero && timings[.transfer] == .milliseconds(5) && timings[.tls] == nil)
    timings[.connect] = nil
    #expect(timings[.connect] == nil && timings[.transfer] == .milliseconds(5))
    timings[.transfer] = .nanoseconds(-1)
    #expect(timings.isEmpty && timings == RequestTimings())
  }
}

import TestSupport

@Suite struct RequestTimingsTests {
  @Test func `a phase that is taken back is unknown again`() {
    var timings = RequestTimings()
    timings[.connect] = .zero
    timings[.transfer] = .milliseconds(5)
    #expect(timings[.connect] == .zero && timings[.transfer] == .milliseconds(5) && timings[.tls] == nil)
    timings[.connect] = nil
    #expect(timings[.connect] == nil && timings[.transfer] == .milliseconds(5))
    timings[.transfer] = .nanoseconds(-7)
    #expect(timings.isEmpty && timings == RequestTimings())
    timings[.tls] = .nanoseconds(-7)
    timings[.queue] = nil
    #expect(timings.isEmpty && timings == RequestTimings())
  }

  @Test func `the phases that are known come in their order, also those without any length`() {
    var timings = RequestTimings()
    for (phase, length) in [(RequestTimings.Phase.transfer, 3), (.connect, 0), (.queue, 2), (.tls, -1)] {
      timings[phase] = .nanoseconds(length)
    }
    var known: [[Int64]] = []
    timings.forEach { known.append([Int64($0), $1]) }
    #expect(known == [[0, 2], [2, 0], [7, 3]])
  }
}

import SessionTap
import Synchronization

/// Operations that this program repeats when it is run under valgrind: `--loop NAME COUNT`.
enum InstructionLoop: String {
  case mutex
  case record
  case exposition
  case memcpy
  case stockRequests
  case tappedRequests

  func run(_ count: Int) async throws {
    let samples = Samples.durations
    switch self {
    case .mutex:
      let mutex = Mutex(0.0)
      for index in 0..<count { mutex.withLock { $0 += samples[index & 65_535] } }
    case .record:
      let histogram = try Registry().histogram("duration_seconds", help: "")
      for value in samples { histogram.record(value) }
      for index in 0..<count { histogram.record(samples[index & 65_535]) }
    case .exposition:
      let registry = try SeriesFixture.make(seriesCount: 1_000)
      var buffer: [UInt8] = []
      for _ in 0...count { registry.write(.text, into: &buffer) }
    case .stockRequests:
      try await LoopbackTransfers.shared.get(count, isTapped: false)
    case .tappedRequests:
      try await LoopbackTransfers.shared.get(count, isTapped: true)
    case .memcpy:
      var source: [UInt8] = []
      try SeriesFixture.make(seriesCount: 1_000).write(.text, into: &source)
      var target = source
      for _ in 0..<count {
        target.withUnsafeMutableBytes { target in source.withUnsafeBytes { target.copyMemory(from: $0) } }
      }
    }
  }
}

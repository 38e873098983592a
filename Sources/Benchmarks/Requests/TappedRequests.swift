import Foundation
import SessionTap

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension Benchmark {
  /// A small GET on loopback, one in flight.
  static let requestTappedC1 = requests("request.tapped_vs_stock.c1", inFlight: 1)

  /// The same, eight in flight.
  static let requestTappedC8 = requests("request.tapped_vs_stock.c8", inFlight: 8)

  /// A download of 10 MB on loopback.
  static let downloadTapped = Benchmark(
    "download.tapped_vs_stock", unit: "ms", reference: "the same without the tap", rounds: 101,
    value: { try await LoopbackTransfers.shared.download(isTapped: true) * 1_000 },
    referenceValue: { try await LoopbackTransfers.shared.download(isTapped: false) * 1_000 })

  /// Heap allocations of a tapped GET beyond those of a stock one, metrics and log included.
  static let requestAllocations = Benchmark(
    "request.allocations", unit: "allocs", reference: "a whole request without the tap", rounds: 1,
    isUsable: InstructionCount.valgrind != nil,
    value: {
      let tapped = try AllocationCount.perOperation(.tappedRequests, count: 200)
      return try tapped - AllocationCount.perOperation(.stockRequests, count: 200)
    },
    referenceValue: { try AllocationCount.perOperation(.stockRequests, count: 200) })

  private static func requests(_ name: String, inFlight: Int) -> Benchmark {
    Benchmark(
      name, unit: "us", reference: "the same without the tap", rounds: 301,
      value: { try await LoopbackTransfers.shared.get(isTapped: true, inFlight: inFlight) * 1_000_000 },
      referenceValue: {
        try await LoopbackTransfers.shared.get(isTapped: false, inFlight: inFlight) * 1_000_000
      })
  }
}

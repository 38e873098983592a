import Foundation
import SessionTap

extension Benchmark {
  /// What a black box adds to a request of URLSession's: it is written at its resume, noted at its begin, and
  /// freed at its end. Only the first needs a clock that is not read anyway.
  static let blackBoxSlot = Benchmark(
    "black_box.slot", unit: "ns", reference: "one uncontended Mutex lock and unlock",
    isUsable: FileManager.default.isWritableFile(atPath: "/dev/shm"),
    value: {
      let path = "/dev/shm/black-box-\(ProcessInfo.processInfo.processIdentifier)"
      defer { unlink(path) }
      let box = try BlackBox(
        BlackBoxFile(path: path), serviceName: "", writeURL: LogRedaction().writeURL, report: { _ in })
      let request = RequestDescription(
        client: "payments", method: "GET", url: "https://api.example.com/v1/users/42",
        serverAddress: "api.example.com", serverPort: 443, urlTemplate: "/v1/users/{id}",
        traceContext: .random())
      let (now, time) = (Instant.now, Timestamp.now)
      return withExtendedLifetime(box) {
        Stopwatch.nanoseconds(per: operations) {
          for _ in 0..<operations {
            var slot = box.keep(request, isStarted: false)
            box.begin(&slot, request, at: now, time)
            box.free(&slot, at: now)
          }
        }
      }
    },
    referenceValue: { UncontendedMutex.nanoseconds })

  private static let operations = 200_000
}

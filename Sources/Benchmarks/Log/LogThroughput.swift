import Foundation
import SessionTap

extension Benchmark {
  /// Lines a second from observations to a file in memory, none lost, beside the same bytes written ready-made in
  /// pieces of 64 KiB.
  static let logThroughput = Benchmark(
    "log.throughput", unit: "lines/s", reference: "write(2) of the same bytes, 64 KiB at a time", rounds: 5,
    value: {
      let path = temporaryPath()
      defer { try? FileManager.default.removeItem(atPath: path) }
      let log = try RequestLog(to: .file(path))
      let producers = max(1, Cores.count - 1)
      let time = Stopwatch.nanoseconds(per: lines) {
        DispatchQueue.concurrentPerform(iterations: producers) { _ in
          let observation = LogSamples.observation
          for index in 0..<lines / producers {
            log.requestEnded(observation)
            if index % 4_096 == 0 { log.flush(within: .seconds(60)) }
          }
        }
        log.shutdown(within: .seconds(60))
      }
      return log.statistics.lines == lines / producers * producers ? 1e9 / time : .nan
    },
    referenceValue: {
      let path = temporaryPath()
      defer { try? FileManager.default.removeItem(atPath: path) }
      _ = FileManager.default.createFile(atPath: path, contents: nil)
      guard let file = FileHandle(forWritingAtPath: path) else { return .nan }
      let log = try RequestLog(to: .memory)
      var piece = Data()
      log.withLine(of: LogSamples.observation) { line in
        while piece.count < 65_536 { piece.append(contentsOf: line) }
      }
      let perPiece = piece.count { $0 == UInt8(ascii: "\n") }
      let time = try Stopwatch.nanoseconds(per: lines) {
        for _ in 0..<lines / perPiece { try file.write(contentsOf: piece) }
      }
      try file.close()
      return 1e9 / time
    })

  private static let lines = 1_000_000

  /// On a file system in memory, where there is one.
  private static func temporaryPath() -> String {
    let folder =
      FileManager.default.isWritableFile(atPath: "/dev/shm")
      ? URL(fileURLWithPath: "/dev/shm") : FileManager.default.temporaryDirectory
    return folder.appendingPathComponent("session-tap-\(UUID().uuidString).jsonl").path
  }
}

import Foundation
import SessionTap

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Makes requests at a steady rate.
struct DemoTraffic: Sendable {
  private let sessions: [DemoClient: URLSession]
  private let origin: URL

  init(tap: Tap, origin: URL) {
    self.origin = origin
    sessions = Dictionary(
      uniqueKeysWithValues: DemoClient.allCases.map { client in
        let configuration = tap.sessionConfiguration(from: client.configuration, client: client.rawValue)
        return (client, URLSession(configuration: configuration))
      })
  }

  /// Makes requests until the task is cancelled or so many are made, and waits for those under way.
  func run(rate: Int, limit: Int?) async {
    let start = ContinuousClock.now
    await withDiscardingTaskGroup { group in
      var made = 0
      while made < limit ?? .max, !Task.isCancelled {
        let kind = DemoRequest.random()
        for _ in 0..<min(kind.burst, (limit ?? .max) - made) {
          group.addTask { await make(kind) }
          made += 1
        }
        // By the schedule and not by the last request, so that the rate holds.
        let next = start + .seconds(Double(made) / Double(rate))
        if (try? await Task.sleep(until: next)) == nil { break }
      }
    }
    for session in sessions.values { session.finishTasksAndInvalidate() }
  }

  private func make(_ kind: DemoRequest) async {
    guard let session = sessions[kind.client], let request = kind.request(to: origin) else { return }
    let work = Task {
      if kind == .report {
        let (file, _) = try await session.download(for: request)
        try? FileManager.default.removeItem(at: file)
      } else {
        _ = try await session.data(for: request)
      }
    }
    let impatience = kind.patience.map { patience in
      Task {
        try await Task.sleep(for: patience)
        work.cancel()
      }
    }
    // Failures are what the demo shows: the tap has recorded them.
    _ = await withTaskCancellationHandler {
      await work.result
    } onCancel: {
      work.cancel()
    }
    impatience?.cancel()
  }
}

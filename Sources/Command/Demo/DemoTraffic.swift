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
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = client == .warehouse ? 2 : 10
        configuration.httpMaximumConnectionsPerHost = 32
        return (
          client, URLSession(configuration: tap.configuration(from: configuration, client: client.rawValue))
        )
      })
  }

  /// Makes requests until the task is cancelled or so many are made, and waits for those under way.
  func run(rate: Int, limit: Int?) async {
    let start = ContinuousClock.now
    await withDiscardingTaskGroup { group in
      var made = 0
      while made < limit ?? .max, !Task.isCancelled {
        group.addTask { await make(.random()) }
        made += 1
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
        // A task with a delegate is told of the response's head, and so the tap learns the time to the first byte.
        _ = try await session.data(for: request, delegate: DemoDelegate())
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

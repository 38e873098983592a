public import TapEndpoint
public import TapLog

extension EndpointRoute {
  /// The last lines of a log as JSON lines (`application/x-ndjson`), the newest last.
  ///
  /// | in the query | meaning |
  /// |---|---|
  /// | `limit=20` | the newest 20 lines (100) |
  /// | `severity=warn` | of this severity or a graver one |
  /// | `client=payments` | of this client |
  /// | `trace_id=4bf92f3577b34da6a3ce929d0e0e4736` | of this trace |
  /// | `since=2026-11-21T09:30:00Z` | of this time or later |
  /// | `follow=1` | go on with each line that matches, as it comes |
  ///
  /// A follower that lags by more than `recentByteLimit` is disconnected, not waited for. While no line comes,
  /// an empty one goes out every 15 seconds: readers of JSON lines ignore it, and proxies need it.
  ///
  /// - Parameters:
  ///   - log: keeps as many lines as its `recentLineLimit` says.
  ///   - path: where.
  public static func logs(of log: RequestLog, at path: String = "/logs") -> EndpointRoute {
    EndpointRoute(
      path,
      handler: { request in
        let query: LogQuery
        do throws(InvalidLogQuery) {
          query = try LogQuery(items: request.queryItems)
        } catch {
          return .refusal(.badRequest, error.description)
        }
        guard request.queryItems.last(where: { $0.name == "follow" })?.value == "1" else {
          return lines(.bytes(log.recent(query)))
        }
        let (events, event) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        guard let follower = log.follow(query, onLines: { event.yield() }) else {
          return .refusal(.serviceUnavailable, "too many readers follow the log, or it keeps no lines")
        }
        return lines(
          .stream(length: nil) { writer in
            // Within the time that the endpoint gives from one part of a body to the next.
            let heartbeat = Task {
              while !Task.isCancelled {
                event.yield()
                try await Task.sleep(for: heartbeatInterval)
              }
            }
            defer {
              heartbeat.cancel()
              follower.cancel()
            }
            for await _ in events {
              guard let lines = follower.read() else { break }
              try await writer.write(lines.isEmpty ? [UInt8(ascii: "\n")] : lines)
            }
            // A reader must not take a log with holes for a whole one: the connection is reset.
            if follower.end == .tooSlow { throw CancellationError() }
          })
      })
  }

  /// After how long without a line a follower gets an empty one, which readers of JSON lines ignore.
  private static let heartbeatInterval = Duration.seconds(15)

  private static func lines(_ body: EndpointResponse.Body) -> EndpointResponse {
    EndpointResponse(
      headers: [
        "Content-Type": "application/x-ndjson; charset=utf-8", "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
      ], body: body)
  }
}

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
  /// | `after=1763717400000042` | after the line with this number |
  ///
  /// The header `Session-Tap-Last-Line` has the number of the newest line, whatever the query asks for. A
  /// reader that passes it as `after` the next time gets each line once. The number stays valid when the app
  /// restarts.
  ///
  /// - Parameters:
  ///   - log: the log; it keeps as many lines as its `recentLineLimit` says.
  ///   - path: the path of the route.
  public static func logs(of log: RequestLog, at path: String = "/logs") -> EndpointRoute {
    EndpointRoute(path) { request in
      do throws(LogQuery.Invalid) {
        let lines = log.recentLines(try LogQuery(items: request.queryItems))
        return EndpointResponse(
          headers: [
            "Content-Type": "application/x-ndjson; charset=utf-8", "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff", "Session-Tap-Last-Line": String(lines.last),
          ], body: lines.bytes)
      } catch {
        return .refusal(400, error.description)
      }
    }
  }
}

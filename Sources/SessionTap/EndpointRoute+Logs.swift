import TapEndpoint
import TapLog

extension EndpointRoute {
  /// The last lines of a log as JSON lines, the newest last. The query chooses among them (``LogQuery``).
  ///
  /// The header `Session-Tap-Last-Line` has the number of the newest line, whatever the query asks for. A
  /// reader that passes it as `after` the next time gets each line once. The number stays valid when the app
  /// restarts.
  static func logs(of log: RequestLog) -> EndpointRoute {
    EndpointRoute("/logs") { request in
      do throws(LogQuery.Invalid) {
        let lines = log.recentLines(try LogQuery(items: request.queryItems))
        var response = EndpointResponse.uncached("application/x-ndjson; charset=utf-8", lines.bytes)
        response.headers["Session-Tap-Last-Line"] = String(lines.last)
        return response
      } catch {
        return .refusal(400, error.description)
      }
    }
  }
}

import TapEndpoint
import TapLog

extension EndpointRoute {
  /// The last lines of a log as JSON lines, the newest last, of which the query chooses some (``LogQuery``).
  /// `Session-Tap-Last-Line` is the number of the newest line, also after a restart of the app: a reader that passes it as `after`
  /// the next time gets each line once.
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

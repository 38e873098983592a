import TapCore
import TapEndpoint
import TapLog

extension EndpointRoute {
  private static let contentType = "application/x-ndjson; charset=utf-8"

  /// The last lines of a log as JSON lines, the newest last, of which the query chooses some (``LogQuery``).
  /// `Session-Tap-Last-Line` is the number of the newest: passed as `after` the next time, it gives each line
  /// once.
  static func logs(of log: RequestLog) -> EndpointRoute {
    .onThreads("/logs") { request in
      do throws(LogQuery.Invalid) {
        let lines = log.recentLines(try LogQuery(items: request.queryItems))
        var response = EndpointResponse.uncached(contentType, lines.bytes)
        response.headers["Session-Tap-Last-Line"] = String(lines.last)
        return response
      } catch {
        return .refusal(400, error.description)
      }
    }
  }

  /// The requests that have not ended as the lines that a log writes of requests that wait, the oldest first.
  /// At most 1,000, and 1 MiB: `Session-Tap-Active-Requests` is how many there are.
  ///
  /// The number is in a header and not in a last line, so that each line is a request.
  static func requests(of recorder: RequestRecorder, as log: RequestLog) -> EndpointRoute {
    .onThreads("/requests") { request in
      guard let limit = limit(of: request) else {
        return .refusal(400, "limit must be a number of requests from 0 to \(requestLimit)")
      }
      let (oldest, more) = recorder.oldestActiveRequests(limit: limit)
      var response = EndpointResponse.uncached(
        contentType, log.lines(of: oldest, byteLimit: requestByteLimit))
      response.headers["Session-Tap-Active-Requests"] = String(oldest.count + more)
      return response
    }
  }

  private static let requestLimit = 1_000
  private static let requestByteLimit = 1 << 20

  /// The last one of the query, as at `/logs`. `nil` if it is invalid.
  private static func limit(of request: EndpointRequest) -> Int? {
    guard let item = request.queryItems.last(where: { $0.name == "limit" }) else { return requestLimit }
    return Int(item.value).flatMap { (0...requestLimit).contains($0) ? $0 : nil }
  }
}

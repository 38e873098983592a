import Dispatch
import TapCore
import TapEndpoint

/// What every endpoint of a tap serves.
enum BuiltInRoutes {
  static func all(registry: Registry) -> [HTTPRoute] {
    let queue = DispatchQueue(label: "session-tap.scrapes", qos: .utility)
    let scrapes = ScrapeHandler(registry: registry) { work in queue.async(execute: work) }
    return [
      HTTPRoute("/metrics") { request in
        let answer = await withCheckedContinuation { continuation in
          scrapes.scrape(
            accept: request.headers["Accept"], acceptEncoding: request.headers["Accept-Encoding"],
            completion: { continuation.resume(returning: $0) })
        }
        var headers: HTTPHeaders = ["Content-Type": answer.contentType, "Vary": "Accept, Accept-Encoding"]
        if let coding = answer.contentEncoding { headers["Content-Encoding"] = coding }
        return HTTPResponse(headers: headers, body: .bytes(answer.bytes))
      },
      HTTPRoute("/healthz", immediate: { _ in .text("ok\n") }),
      HTTPRoute("/", immediate: { _ in .text(index) }),
    ]
  }

  private static let index = """
    SessionTap \(BuildInfo.version)

    /metrics   what this process's URLSessions do, for Prometheus
    /healthz   answers "ok" while the process serves

    """
}

extension EndpointRoute {
  /// Answers `ok` for as long as the process serves.
  public static func liveness(at path: String = "/healthz") -> EndpointRoute {
    let response = EndpointResponse.text("ok\n")
    return EndpointRoute(path, immediate: { _ in response })
  }

  /// Answers 200 if every check passes, else 503; either way with a line for each check. One that has not answered
  /// shortly before the endpoint's answer deadline counts as failed.
  ///
  /// - Parameters:
  ///   - readiness: the checks. They may change while the endpoint runs.
  ///   - path: where.
  public static func readiness(_ readiness: Readiness, at path: String = "/readyz") -> EndpointRoute {
    EndpointRoute(path) { request in
      let (isReady, text) = await readiness.report(within: ScrapeTimeout.time(within: request.answerTime))
      return .text(text, status: isReady ? .ok : .serviceUnavailable)
    }
  }
}

extension EndpointRoute {
  /// Answers `ok` for as long as the process serves.
  public static func liveness(at path: String = "/healthz") -> EndpointRoute {
    let response = EndpointResponse.text("ok\n")
    return EndpointRoute(path, immediate: { _ in response })
  }

  /// Answers 200 if every check passes, else 503; either way with a line for each check.
  ///
  /// - Parameters:
  ///   - readiness: the checks. They may change while the endpoint runs.
  ///   - path: where.
  public static func readiness(_ readiness: Readiness, at path: String = "/readyz") -> EndpointRoute {
    EndpointRoute(path) { _ in
      let (isReady, text) = await readiness.report()
      return .text(text, status: isReady ? .ok : .serviceUnavailable)
    }
  }
}

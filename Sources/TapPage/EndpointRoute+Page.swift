package import TapCore
package import TapEndpoint

extension EndpointRoute {
  /// The page. It requests `metrics`, and `logs` and `page/history` if they are served, by relative paths, so it works behind a proxy
  /// that adds a prefix. It is one document without other resources, compressed once for all browsers, whose
  /// Content-Security-Policy allows only the page's own script, which may talk only to this endpoint.
  package static func page(showsLog: Bool = false, showsHistory: Bool = false) -> EndpointRoute {
    let document = PageDocument(showsLog: showsLog, showsHistory: showsHistory)
    return .immediate("/") { request in
      let bodies = document.bodies
      var response = EndpointResponse(headers: PageDocument.headers, body: bodies.identity)
      if let gzip = bodies.gzip, Gzip.isPreferred(by: request.headers.combined("Accept-Encoding")) {
        response.headers["Content-Encoding"] = "gzip"
        response.body = gzip
      }
      return response
    }
  }

  /// What the page's charts show before its first scrape. The recorder delivers the pending requests first.
  package static func history(of history: RequestHistory, recorder: RequestRecorder) -> EndpointRoute {
    EndpointRoute("/page/history") { _ in
      recorder.drain()
      return .uncached("application/json", history.json())
    }
  }
}

/// Holds the queue on which Foundation drives all sessions, from within a protocol class of the app's own:
/// for as long as some work takes there.
///
/// All of it happens on that queue. A test that let it go could come too late: tasks of other tests wait for
/// the queue, and take the threads of Swift's tasks.
package final class QueueHold: URLProtocol {
  private static let works = Mutex<[String: @Sendable () -> Void]>([:])

  /// What to ask for, once, in a session of which this is a protocol class.
  package static func url(holdingFor work: @escaping @Sendable () -> Void) -> URL {
    let host = "hold-\(UUID().uuidString.lowercased())"
    works.withLock { $0[host] = work }
    return URL(string: "hold://\(host)/") ?? URL(fileURLWithPath: "/")
  }

  package override class func canInit(with request: URLRequest) -> Bool { request.url?.scheme == "hold" }
  package override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

  package override func startLoading() {
    let work = request.url?.host.flatMap { host in Self.works.withLock { $0.removeValue(forKey: host) } }
    work?()
    client?.urlProtocol(self, didFailWithError: URLError(.unsupportedURL))
  }

  package override func stopLoading() {}
}

/// Makes requests of each kind in each style, in any session, and tells of their ends.
package final class RequestSender: Sendable {
  package typealias Kind = RandomRequest.Kind

  private let folder: TemporaryFolder
  private let file: URL
  private let body = Data(repeating: 7, count: 500)

  package init() throws {
    folder = try TemporaryFolder()
    file = URL(fileURLWithPath: folder("body"))
    try body.write(to: file)
  }

  /// Starts a request. In the style of a delegate, that of the session is a ``CompletionDelegate``.
  ///
  /// - Returns: What cancels it.
  @discardableResult
  package func start(
    _ request: URLRequest, _ kind: Kind, _ style: RandomRequest.Style, in session: URLSession,
    resumes: Bool = true, whenDone done: @escaping @Sendable () -> Void
  ) -> @Sendable () -> Void {
    guard style != .async else {
      Task {
        await send(request, kind, session)
        done()
      }
      return {}
    }
    let task = style == .handler ? handled(request, kind, session, done) : delegated(request, kind, session)
    if style == .delegate { (session.delegate as? CompletionDelegate)?.whenComplete(task, done) }
    if resumes { task.resume() }
    return { task.cancel() }
  }

  private func send(_ request: URLRequest, _ kind: Kind, _ session: URLSession) async {
    switch kind {
    case .data: _ = try? await session.data(for: request)
    case .upload: _ = try? await session.upload(for: request, from: body)
    case .uploadFile: _ = try? await session.upload(for: request, fromFile: file)
    case .download: Self.remove(try? await session.download(for: request).0)
    }
  }

  private func handled(
    _ request: URLRequest, _ kind: Kind, _ session: URLSession, _ done: @escaping @Sendable () -> Void
  ) -> URLSessionTask {
    switch kind {
    case .data: session.dataTask(with: request) { _, _, _ in done() }
    case .upload: session.uploadTask(with: request, from: body) { _, _, _ in done() }
    case .uploadFile: session.uploadTask(with: request, fromFile: file) { _, _, _ in done() }
    case .download:
      session.downloadTask(with: request) { file, _, _ in
        Self.remove(file)
        done()
      }
    }
  }

  private func delegated(_ request: URLRequest, _ kind: Kind, _ session: URLSession) -> URLSessionTask {
    switch kind {
    case .data: session.dataTask(with: request)
    case .upload: session.uploadTask(with: request, from: body)
    case .uploadFile: session.uploadTask(with: request, fromFile: file)
    case .download: session.downloadTask(with: request)
    }
  }

  private static func remove(_ file: URL?) { if let file { try? FileManager.default.removeItem(at: file) } }
}

/// Tells of the completion of each task of a session.
package final class CompletionDelegate: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate {
  private let completions = Mutex<[Int: @Sendable () -> Void]>([:])

  package func whenComplete(_ task: URLSessionTask, _ completion: @escaping @Sendable () -> Void) {
    completions.withLock { $0[task.taskIdentifier] = completion }
  }

  package func urlSession(
    _: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo file: URL
  ) {
    try? FileManager.default.removeItem(at: file)
  }

  package func urlSession(_: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    completions.withLock { $0.removeValue(forKey: task.taskIdentifier) }?()
  }
}

import Foundation
import SessionTap
import TestSupport

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// How a program's requests are made.
extension ProgramRunner {
  /// Makes a request and waits for its end.
  func make(_ request: ProgramRequest) async {
    let done = Gate()
    start(request) { done.open() }
    await wait(for: done, "end of \(request.name)")
  }

  /// Makes a request and waits until its server has it.
  func begin(_ request: ProgramRequest) async {
    let (hold, done) = (origin.hold(request.name), Gate())
    let cancel = start(request) { done.open() }
    self.hold(request.name, HeldRequest(hold: hold, done: done, cancel: cancel))
    await wait(for: hold.arrived, "request \(request.name) at its server")
  }

  func finish(_ name: ProgramName) async {
    guard let request = takeHeld(name) else { return }
    request.hold.release.open()
    await wait(for: request.done, "end of \(name), which its server has answered")
  }

  func cancel(_ name: ProgramName) async {
    guard let request = takeHeld(name) else { return }
    request.cancel()
    await wait(for: request.done, "end of \(name), which is cancelled")
    request.hold.release.open()
  }

  /// Starts a request, and gives what cancels it.
  @discardableResult
  private func start(
    _ request: ProgramRequest, whenDone done: @escaping @Sendable () -> Void
  ) -> @Sendable () -> Void {
    guard let session = session(request.session) else { return {} }
    var port = origin.port(of: request.target)
    if case .endpoint(let name) = request.target { port = tap(name)?.address?.port }
    let urlRequest = request.urlRequest(port: port)
    guard request.style != .async else {
      Task {
        await send(urlRequest, request.kind, session.session)
        done()
      }
      return {}
    }
    let task = task(urlRequest, request, session.session, whenDone: done)
    if request.style == .delegate { session.delegate?.whenComplete(task, done) }
    if request.cancel != .beforeResume { task.resume() }
    if request.cancel != .never { task.cancel() }
    return { task.cancel() }
  }

  private func send(_ request: URLRequest, _ kind: ProgramRequest.Kind, _ session: URLSession) async {
    switch kind {
    case .data: _ = try? await session.data(for: request)
    case .upload: _ = try? await session.upload(for: request, from: uploadBody)
    case .uploadFile: _ = try? await session.upload(for: request, fromFile: uploadFile)
    case .download:
      if let (file, _) = try? await session.download(for: request) {
        try? FileManager.default.removeItem(at: file)
      }
    }
  }

  private func task(
    _ urlRequest: URLRequest, _ request: ProgramRequest, _ session: URLSession,
    whenDone done: @escaping @Sendable () -> Void
  ) -> URLSessionTask {
    let isDelegated = request.style == .delegate
    let end: @Sendable (Data?, URLResponse?, (any Error)?) -> Void = { _, _, _ in done() }
    switch request.kind {
    case .data:
      return isDelegated
        ? session.dataTask(with: urlRequest) : session.dataTask(with: urlRequest, completionHandler: end)
    case .upload:
      return isDelegated
        ? session.uploadTask(with: urlRequest, from: uploadBody)
        : session.uploadTask(with: urlRequest, from: uploadBody, completionHandler: end)
    case .uploadFile:
      return isDelegated
        ? session.uploadTask(with: urlRequest, fromFile: uploadFile)
        : session.uploadTask(with: urlRequest, fromFile: uploadFile, completionHandler: end)
    case .download:
      guard !isDelegated else { return session.downloadTask(with: urlRequest) }
      return session.downloadTask(with: urlRequest) { file, _, _ in
        if let file { try? FileManager.default.removeItem(at: file) }
        done()
      }
    }
  }
}

import SessionTap
import TestSupport

extension ProgramRunner {
  func make(_ request: ProgramRequest) async {
    let done = Gate()
    start(request) { done.open() }
    await wait(for: done, "end of \(request.name)")
  }

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

  @discardableResult
  private func start(
    _ request: ProgramRequest, whenDone done: @escaping @Sendable () -> Void
  ) -> @Sendable () -> Void {
    guard let session = session(request.session) else { return {} }
    var port = origin.port(of: request.target)
    if case .endpoint(let name) = request.target { port = tap(name)?.address?.port }
    let urlRequest = request.urlRequest(port: port)
    let cancel = sender.start(
      urlRequest, request.kind, request.style, in: session, resumes: request.cancel != .beforeResume,
      whenDone: done)
    if request.cancel != .never { cancel() }
    return cancel
  }
}

import TestSupport

/// One request of some kind, made in some style: the app's side of a test.
struct AppCall: Sendable {
  typealias SessionMaker =
    @Sendable (URLSessionConfiguration, (any URLSessionDelegate)?, OperationQueue?) -> URLSession

  var kind: Kind
  var style: Style
  var request: URLRequest
  var uploadBody = Array("the body of an upload".utf8)
  /// Gives the session a delegate beside the completion that the app waits for.
  var sessionHasDelegate = false
  var behaviour = TranscriptDelegate.Behaviour()
  var interruption = Interruption.none
  /// Opens when it is time to interrupt.
  var isDue = Gate()
  /// Interrupts only when a delegate has seen a part of the body.
  var waitsForData = false
  /// Interrupts only when a session's delegate has been asked for credentials.
  var waitsForChallenge = false
  /// Opened after the interruption: the server may go on.
  var goOn = Gate()
  /// How the app makes its session.
  var makeSession: SessionMaker = { URLSession(configuration: $0, delegate: $1, delegateQueue: $2) }

  /// Makes the request with a session of its own and tells what the app saw.
  func run(_ configuration: URLSessionConfiguration) async throws -> Transcript {
    let delegate = TranscriptDelegate(behaviour, uploadBody: uploadBody)
    var transcript =
      switch style {
      case .async: try await runAsync(configuration, delegate: nil)
      case .taskDelegate: try await runAsync(configuration, delegate: delegate)
      case .completionHandler: try await runWithHandler(configuration)
      case .sessionDelegate: try await runWithDelegate(configuration, delegate: delegate)
      }
    transcript.noteStores(of: configuration, request: request)
    return transcript
  }

  private func runAsync(
    _ configuration: URLSessionConfiguration, delegate: TranscriptDelegate?
  ) async throws -> Transcript {
    let delegateQueue = OperationQueue()
    delegateQueue.maxConcurrentOperationCount = 1
    let sessionDelegate = sessionHasDelegate ? TranscriptDelegate(behaviour, uploadBody: uploadBody) : nil
    var session: URLSession? = makeSession(configuration, sessionDelegate, delegateQueue)
    let work = Task { [session] in
      guard let session else { return Transcript() }
      return await load(with: session, delegate: delegate)
    }
    if style == .taskDelegate, waitsForData, kind != .download { try await delegate?.firstData.wait("data") }
    try await interrupt(&session) { _ in work.cancel() }
    var transcript = await work.value
    // The delegate's queue is serial: what it was told before has been noted when this comes.
    await withCheckedContinuation { continuation in delegateQueue.addOperation { continuation.resume() } }
    transcript.events = [sessionDelegate, delegate].flatMap { $0?.transcript.events ?? [] }
    session?.finishTasksAndInvalidate()
    return transcript
  }

  private func load(with session: URLSession, delegate: TranscriptDelegate?) async -> Transcript {
    var transcript = Transcript()
    do {
      let (data, response): (Data, URLResponse)
      switch kind {
      case .download:
        let (file, head) = try await session.download(for: request, delegate: delegate)
        (data, response) = (try Data(contentsOf: file), head)
        try? FileManager.default.removeItem(at: file)
      case .uploadFile:
        (data, response) = try await withUploadFile {
          try await session.upload(for: request, fromFile: $0, delegate: delegate)
        }
      case .uploadData:
        (data, response) = try await session.upload(for: request, from: Data(uploadBody), delegate: delegate)
      case .data, .uploadStream: (data, response) = try await session.data(for: request, delegate: delegate)
      }
      transcript.note(response)
      transcript.body = Array(data)
    } catch {
      transcript.note(error)
    }
    return transcript
  }

  private func runWithHandler(_ configuration: URLSessionConfiguration) async throws -> Transcript {
    let delegate = sessionHasDelegate ? TranscriptDelegate(behaviour, uploadBody: uploadBody) : nil
    var session: URLSession? = makeSession(configuration, delegate, nil)
    let box = Mutex(Transcript())
    let done = Gate()
    let handler: @Sendable (Data?, URLResponse?, (any Error)?) -> Void = { data, response, error in
      box.withLock {
        $0.note(response)
        $0.note(error)
        $0.body = data.map(Array.init) ?? []
      }
      done.open()
    }
    try await withUploadFile { file in
      let task: URLSessionTask? =
        switch kind {
        case .download:
          session?.downloadTask(with: request) { file, response, error in
            handler(file.flatMap { try? Data(contentsOf: $0) }, response, error)
          }
        case .uploadFile: session?.uploadTask(with: request, fromFile: file, completionHandler: handler)
        case .uploadData:
          session?.uploadTask(with: request, from: Data(uploadBody), completionHandler: handler)
        case .data, .uploadStream: session?.dataTask(with: request, completionHandler: handler)
        }
      task?.resume()
      try await interrupt(&session) { $0.cancel() }
      try await done.wait("completion handler")
      if let task { box.withLock { $0.noteCounts(of: task) } }
    }
    box.withLock { $0.events = delegate?.transcript.events ?? [] }
    session?.finishTasksAndInvalidate()
    return box.withLock { $0 }
  }

  private func runWithDelegate(
    _ configuration: URLSessionConfiguration, delegate: TranscriptDelegate
  ) async throws -> Transcript {
    var session: URLSession? = makeSession(configuration, delegate, nil)
    try await withUploadFile { file in
      let task: URLSessionTask? =
        switch kind {
        case .download: session?.downloadTask(with: request)
        case .uploadFile: session?.uploadTask(with: request, fromFile: file)
        case .uploadData: session?.uploadTask(with: request, from: Data(uploadBody))
        case .uploadStream: session?.uploadTask(withStreamedRequest: request)
        case .data: session?.dataTask(with: request)
        }
      task?.resume()
      if waitsForData { try await delegate.firstData.wait("data") }
      if waitsForChallenge { try await delegate.challenged.wait("the challenge") }
      try await interrupt(&session) { $0.cancel() }
      try await delegate.done.wait("didCompleteWithError")
    }
    if interruption == .invalidateAndCancel || interruption == .finishTasksAndInvalidate {
      try await delegate.invalid.wait("didBecomeInvalid")
    }
    defer { session?.finishTasksAndInvalidate() }
    return delegate.transcript
  }

  private func interrupt(_ session: inout URLSession?, cancel: (URLSessionTask) -> Void) async throws {
    guard interruption != .none else { return }
    try await isDue.wait("the point of interruption")
    let tasks = await withCheckedContinuation { continuation in
      session?.getAllTasks { continuation.resume(returning: $0) }
    }
    if waitsForData || waitsForChallenge {
      // The server has sent the head, but what the app has seen of it by now is a matter of luck. -1 if it
      // names no length; the cancel comes behind whatever else Foundation does with the head.
      try await Poll.until("the head") { tasks.allSatisfy { $0.countOfBytesExpectedToReceive != 0 } }
    }
    switch interruption {
    case .none: break
    case .cancel: tasks.forEach(cancel)
    case .suspendAndResume:
      for task in tasks {
        task.suspend()
        task.resume()
      }
    case .invalidateAndCancel: session?.invalidateAndCancel()
    case .finishTasksAndInvalidate: session?.finishTasksAndInvalidate()
    case .dropSession: session = nil
    }
    goOn.open()
  }

  private func withUploadFile<T>(_ body: (URL) async throws -> T) async throws -> T {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("upload-\(UUID().uuidString)")
    if kind == .uploadFile { try Data(uploadBody).write(to: file) }
    defer { try? FileManager.default.removeItem(at: file) }
    return try await body(file)
  }
}

enum Kind: String, CaseIterable, Sendable {
  case data, uploadData, uploadFile, uploadStream, download

  /// Whether Foundation offers this pair: a streamed upload has no form with a completion.
  func exists(in style: Style) -> Bool { self != .uploadStream || style == .sessionDelegate }

  /// Whether the body was handed over with the task.
  var hasFixedBody: Bool { self == .uploadData || self == .uploadFile }

  var sendsBody: Bool { self != .data && self != .download }
}

/// The ways in which an app learns of a task's end.
enum Style: String, CaseIterable, Sendable {
  case async, completionHandler, sessionDelegate
  /// An async call with a delegate of its own: the form in which Foundation on Linux asks a task delegate.
  case taskDelegate

  /// Whether a delegate is asked about redirects and challenges.
  var hasDelegate: Bool { self == .sessionDelegate || self == .taskDelegate }
}

enum Interruption: Sendable {
  case none, cancel, suspendAndResume, invalidateAndCancel, finishTasksAndInvalidate, dropSession
}

import Foundation
import Synchronization
import TestSupport

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One request of some kind, made in some style: the app's side of a test.
struct Exchange: Sendable {
  var kind: Kind
  var style: Style
  var request: URLRequest
  var uploadBody: [UInt8] = Array("the body of an upload".utf8)

  /// Makes the request with a session of its own and tells what the app saw.
  func run(_ configuration: URLSessionConfiguration) async throws -> Transcript {
    switch style {
    case .async: await runAsync(configuration)
    case .completionHandler: try await runWithHandler(configuration)
    case .delegate: try await runWithDelegate(configuration)
    }
  }

  private func runAsync(_ configuration: URLSessionConfiguration) async -> Transcript {
    let session = URLSession(configuration: configuration)
    defer { session.finishTasksAndInvalidate() }
    var transcript = Transcript()
    do {
      switch kind {
      case .download:
        let (file, response) = try await session.download(for: request)
        transcript.note(response)
        transcript.body = Array(try Data(contentsOf: file))
        try? FileManager.default.removeItem(at: file)
      case .uploadFile:
        let (data, response) = try await withUploadFile {
          try await session.upload(for: request, fromFile: $0)
        }
        transcript.note(response)
        transcript.body = Array(data)
      case .uploadData:
        let (data, response) = try await session.upload(for: request, from: Data(uploadBody))
        transcript.note(response)
        transcript.body = Array(data)
      case .data, .uploadStream:
        let (data, response) = try await session.data(for: request)
        transcript.note(response)
        transcript.body = Array(data)
      }
    } catch {
      transcript.note(error)
    }
    return transcript
  }

  private func runWithHandler(_ configuration: URLSessionConfiguration) async throws -> Transcript {
    let session = URLSession(configuration: configuration)
    defer { session.finishTasksAndInvalidate() }
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
      let task: URLSessionTask =
        switch kind {
        case .download:
          session.downloadTask(with: request) { file, response, error in
            handler(file.flatMap { try? Data(contentsOf: $0) }, response, error)
          }
        case .uploadFile: session.uploadTask(with: request, fromFile: file, completionHandler: handler)
        case .uploadData:
          session.uploadTask(with: request, from: Data(uploadBody), completionHandler: handler)
        case .data, .uploadStream: session.dataTask(with: request, completionHandler: handler)
        }
      task.resume()
      try await done.wait("completion handler")
    }
    return box.withLock { $0 }
  }

  private func runWithDelegate(_ configuration: URLSessionConfiguration) async throws -> Transcript {
    let delegate = TranscriptDelegate(uploadBody: uploadBody)
    let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    defer { session.finishTasksAndInvalidate() }
    try await withUploadFile { file in
      let task: URLSessionTask =
        switch kind {
        case .download: session.downloadTask(with: request)
        case .uploadFile: session.uploadTask(with: request, fromFile: file)
        case .uploadData: session.uploadTask(with: request, from: Data(uploadBody))
        case .uploadStream: session.uploadTask(withStreamedRequest: request)
        case .data: session.dataTask(with: request)
        }
      task.resume()
      try await delegate.done.wait("didCompleteWithError")
    }
    return delegate.transcript
  }

  private func withUploadFile<T: Sendable>(_ body: (URL) async throws -> T) async throws -> T {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("upload-\(UUID().uuidString)")
    if kind == .uploadFile { try Data(uploadBody).write(to: file) }
    defer { try? FileManager.default.removeItem(at: file) }
    return try await body(file)
  }
}

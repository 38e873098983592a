import Foundation
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What crashes or goes wrong in Foundation on Linux without the tap: why the tap is as it is. A toolchain that
/// mends one of these fails a test, and what leans on it can be made simpler.
///
/// Each runs in a process of its own, which an alarm ends where Foundation hangs instead.
@Suite struct StockCrashTests {
  /// Makes one request for `mock.test` through a protocol class, in a way that should work.
  static func request(
    through protocolClass: URLProtocol.Type, kind: Kind = .data, style: Style = .completionHandler
  ) async throws -> Transcript {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.protocolClasses = [protocolClass]
    guard let url = URL(string: "http://mock.test/") else { return Transcript() }
    return try await Exchange(kind: kind, style: style, request: URLRequest(url: url)).run(configuration)
  }

  @Test func `a protocol that sends the request again crashes`() async {
    await #expect(processExitsWith: .failure) {
      alarm(20)
      _ = try await StockCrashTests.request(through: RecipeProtocol.self)
    }
  }

  @Test func `a protocol that tells of a redirect crashes`() async {
    await #expect(processExitsWith: .failure) {
      alarm(20)
      _ = try await StockCrashTests.request(through: RedirectingProtocol.self)
    }
  }

  @Test func `a protocol that registers a class while one is chosen crashes or hangs`() async {
    await #expect(processExitsWith: .failure) {
      alarm(20)
      _ = try await StockCrashTests.request(through: RegisteringProtocol.self)
    }
  }

  @Test func `a protocol that reads its task's priority crashes`() async {
    await #expect(processExitsWith: .failure) {
      alarm(20)
      _ = try await StockCrashTests.request(through: PriorityProtocol.self)
    }
  }

  @Test func `a protocol that answers a download of a delegate crashes`() async {
    await #expect(processExitsWith: .failure) {
      alarm(20)
      _ = try await StockCrashTests.request(
        through: MockProtocol.self, kind: .download, style: .sessionDelegate)
    }
  }

  @Test func `a protocol that answers a download loses the file`() async throws {
    let transcript = try await Self.request(through: MockProtocol.self, kind: .download)
    #expect(transcript.status == 203)
    #expect(transcript.error == nil)
    #expect(transcript.body.isEmpty)
  }

  @Test func `of a body in pieces a handler gets the last`() async throws {
    let transcript = try await Self.request(through: PiecewiseProtocol.self)
    #expect(transcript.body == Array("last".utf8))
  }

  @Test func `a delegate that refuses a redirect of a download with a body crashes`() async {
    await #expect(processExitsWith: .failure) {
      alarm(20)
      let origin = try Origin { _ in
        [.response("302 Found", headers: [("Location", "/end")], body: Array("moved".utf8))]
      }
      var exchange = Exchange(
        kind: .download, style: .sessionDelegate, request: URLRequest(url: origin.url()))
      exchange.behaviour.followsRedirects = false
      _ = try await exchange.run(.ephemeral)
    }
  }

  @Test func `a cancel while a delegate is asked about a redirect crashes`() async {
    await #expect(processExitsWith: .failure) {
      alarm(20)
      let origin = try Origin { _ in [.response("302 Found", headers: [("Location", "/end")])] }
      let delegate = CancellingDelegate()
      let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
      session.dataTask(with: origin.url()).resume()
      try await delegate.done.wait("the completion")
    }
  }

  /// The loader asks for the user name of a credential that is not there.
  @Test func `a challenge that is answered with no credential crashes`() async {
    await #expect(
      processExitsWith: .failure, "fixed in Foundation: remove it of the article What the tap sees"
    ) {
      alarm(20)
      let origin = try Origin { _ in
        [.response("401 Unauthorized", headers: [("WWW-Authenticate", "Basic realm=\"x\"")])]
      }
      let session = URLSession(
        configuration: .ephemeral, delegate: AnsweringDelegate(credential: nil), delegateQueue: nil)
      let done = Gate()
      session.dataTask(with: origin.url()) { _, _, _ in done.open() }.resume()
      try await done.wait("the completion")
    }
  }

  /// The file descriptor of a connection that others use is closed under them: code 43 of libcurl in `EasyHandle.swift`.
  @Test(.needs(.program), .enabled(if: FrontServer.isUsable, "needs nginx, openssl and root"))
  func `a redirect by HTTP/2 beside other requests crashes`() async throws {
    try await TrustedCertificate.prepare()
    await #expect(
      processExitsWith: .failure, "fixed in Foundation: remove it of the article What the tap sees"
    ) {
      alarm(60)
      let origin = try Origin { request in
        request.path.hasPrefix("/moved")
          ? [.response("302 Found", headers: [("Location", "/end")])] : [.think(5), .response(body: [1])]
      }
      let front = try await FrontServer.start(before: origin)
      let session = URLSession(configuration: .ephemeral)
      for _ in 0..<100 {
        await withTaskGroup { group in
          for number in 0..<4 {
            let url = front.url(.http2, number == 0 ? "/end" : "/moved")
            group.addTask { _ = try? await session.data(from: url) }
          }
        }
      }
      try await front.stop()
    }
  }

  /// A server alone can do these, to any app.
  @Test(arguments: FatalAnswer.allCases)
  func `a server ends the process`(answer: FatalAnswer) async {
    await #expect(
      processExitsWith: .failure,
      "mended: move it to Scenario.oddServers, and take it out of FatalAnswer and of the article What the tap sees"
    ) { [answer] in
      alarm(20)
      let origin = try Origin { _ in answer.steps }
      let exchange = Exchange(
        kind: .data, style: .completionHandler, request: URLRequest(url: origin.url()))
      _ = try await exchange.run(.ephemeral)
    }
  }

  /// `_getProtocol` waits for the cache, and makes the three calls in a row once it has answered. The stop finds a task that
  /// runs and has no error: `stopLoading` in `NativeProtocol.swift`. Nine in ten such tasks end the process.
  @Test func `a task that is resumed, suspended and resumed at once ends the process`() async {
    await #expect(
      processExitsWith: .failure,
      "fixed in Foundation: remove it of the article What the tap sees, and the stop out of the tap"
    ) {
      alarm(20)
      let origin = try Origin { _ in [.response()] }
      let session = URLSession(configuration: .ephemeral)
      for _ in 0..<50 {
        let done = Gate()
        let task = session.dataTask(with: origin.url()) { _, _, _ in done.open() }
        task.resume()
        task.suspend()
        task.resume()
        try await done.wait("the completion")
      }
    }
  }

  /// Such a task has a queue of its own, so it may look into the registry of tasks before it is there:
  /// `invalidDownloadTask(behavior:)` in `URLSession.swift`. Issue 3292 of swift-corelibs-foundation. One in five does.
  @Test func `a download that is to be resumed from data ends the process`() async {
    await #expect(
      processExitsWith: .failure, "fixed in Foundation: remove it of the article What the tap sees"
    ) {
      alarm(100)
      let session = URLSession(configuration: .ephemeral)
      for _ in 0..<5_000 {
        let done = Gate()
        session.downloadTask(withResumeData: Data()) { _, _, _ in done.open() }.resume()
        try await done.wait("the completion")
      }
    }
  }

  /// The native loader opens the file of a download before it sends anything: `createTransferBodyDataDrain()` in
  /// `NativeProtocol.swift`. So it is in a container whose file system is read-only, or has no `/tmp`.
  @Test(arguments: ["/nowhere", "/proc"])
  func `a download ends the process where no temporary file can be made`(folder: String) async {
    await #expect(
      processExitsWith: .failure,
      "fixed in Foundation: remove it of the articles What the tap sees and Deploying, and the /tmp out of dashboards/deploy"
    ) { [folder] in
      alarm(20)
      setenv("TMPDIR", folder, 1)
      let origin = try Origin { _ in [.response()] }
      let exchange = Exchange(
        kind: .download, style: .completionHandler, request: URLRequest(url: origin.url()))
      _ = try await exchange.run(.ephemeral)
    }
  }

  /// The same requests where nothing is wrong: the crashes above are not the alarm's or the tests' own.
  @Test func `what surrounds the crashes works`() async throws {
    await #expect(processExitsWith: .success) {
      let transcript = try await StockCrashTests.request(through: MockProtocol.self)
      #expect(transcript.body == MockProtocol.body)
      let origin = try Origin { _ in
        [.response("302 Found", headers: [("Location", "/end")], body: Array("moved".utf8))]
      }
      var exchange = Exchange(
        kind: .data, style: .sessionDelegate, request: URLRequest(url: origin.url()))
      exchange.behaviour.followsRedirects = false
      #expect(try await exchange.run(.ephemeral).body == Array("moved".utf8))
    }
  }
}

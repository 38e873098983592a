import TapURLSession
import TestSupport

/// Sessions that exist already: observed from here on, and no longer.
struct InstallTests {
  var (tap, observer) = URLSessionTap.observed()

  private var clients: [String] {
    tap.flush()
    return observer.ended.map(\.request.client)
  }

  @Test func `another tap's and the app's own classes stay`() async throws {
    let other = URLSessionTap(observers: [])
    let configuration = URLSessionConfiguration.ephemeral(with: MockProtocol.self)
    let session = URLSession(configuration: configuration)
    #expect(other.install(on: session, client: "other"))
    let classes = FactoryTests.names(session.configuration)
    tap.uninstall(from: session)
    #expect(FactoryTests.names(session.configuration) == classes)
    #expect(tap.install(on: session, client: "mine"))
    let (body, _) = try await session.data(from: #require(URL(string: "http://mock.test/")))
    #expect(Array(body) == MockProtocol.body)
    tap.uninstall(from: session)
    #expect(FactoryTests.names(session.configuration) == classes)
    #expect(clients == ["mine"])
  }

  /// As where all sessions of a process are observed.
  @Test func `a session that has just been made gets a name, unless it has one or is to have none`()
    async throws
  {
    let origin = try Origin { _ in [.response()] }
    let sessions = [tap.session(client: "own")] + (0..<2).map { _ in URLSession(configuration: .ephemeral) }
    tap.installOnce(on: sessions[0]) { _ in "every" }
    tap.installOnce(on: sessions[1]) { _ in "every" }
    tap.installOnce(on: sessions[2]) { _ in nil }
    for session in sessions { _ = try await session.data(from: origin.url()) }
    #expect(clients == ["own", "every"])
  }

  @Test func `a task that exists is recorded if it is resumed afterwards`() async throws {
    let origin = try Origin { _ in [.response()] }
    let session = URLSession(configuration: .ephemeral)
    let done = Gate()
    let task = session.dataTask(with: origin.url()) { _, _, _ in done.open() }
    tap.install(on: session, client: "late")
    task.resume()
    try await done.wait("the response")
    #expect(clients == ["late"])
  }

  /// In a process of its own: all tests share the shared session.
  @Test(.needs(.program), .serialized, arguments: [true, false])
  func `the shared session can be observed, even as the process's first`(isFirst: Bool) async throws {
    try ExitValues.give("InstallTests", isFirst)
    await #expect(processExitsWith: .success) {
      let isFirst = try ExitValues.take("InstallTests", Bool.self)
      let (tap, observer) = URLSessionTap.observed()
      let origin = try Origin { _ in [.response(body: [1])] }
      if !isFirst { _ = try await URLSession(configuration: .ephemeral).data(from: origin.url("/other")) }
      let stock = FactoryTests.names(URLSession.shared.configuration)
      #expect(stock.isEmpty == isFirst)
      #expect(tap.install(on: .shared, client: "shared"))
      let (body, _) = try await URLSession.shared.data(from: origin.url("/observed"))
      #expect(Array(body) == [1])
      tap.uninstall(from: .shared)
      #expect(FactoryTests.names(URLSession.shared.configuration) == stock)
      _ = try await URLSession.shared.data(from: origin.url("/unobserved"))
      tap.flush()
      expectEqual(observer.ended.map(\.request.url), [origin.url("/observed").absoluteString])
    }
  }
}

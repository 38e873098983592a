import TestSupport

@testable import TapURLSession

/// What the tap reads of Foundation's memory is what it is taken for, or is not read.
struct FoundationLayoutTests {
  /// A session with seven connections for each host, and a task that is not resumed.
  @Test func `each word of Foundation's is what it is taken for`() throws {
    let loaderClass = try #require(TapContext.nativeHTTP)
    let configuration = with(URLSessionConfiguration.ephemeral) { $0.httpMaximumConnectionsPerHost = 7 }
    let session = URLSession(configuration: configuration)
    let info = try #require(CurlInfo.shared)
    let layout = info.foundation
    let task = session.dataTask(with: try #require(URL(string: "http://127.0.0.1/")))
    let loader = loaderClass.init(task: task, cachedResponse: nil, client: nil)
    // The number that the session was made with is the limit.
    session.configuration.httpMaximumConnectionsPerHost = 8
    let unused = URLSession(configuration: .ephemeral)
    #expect(layout.holds(for: loader, of: task) && layout.isUsed(session) && !layout.isUsed(unused))
    #expect(layout.session(of: task) === session && layout.connectionLimit(of: task) == 7)
    #expect(layout.redirectCount(of: loader) == 0 && layout.handle(of: loader) != nil)
    #expect(layout.queue(of: task) != nil && layout.socket(of: task) { _ in true } == nil)
    var fresh = TransferInfo()
    info.read(loader, into: &fresh)
    var untouched = TransferInfo()
    untouched.isNative = true
    (untouched.statusCode, untouched.connectionCount) = (0, 0)
    (untouched.sentBytes, untouched.receivedBytes) = (0, 0)
    (untouched.queue, untouched.localPort) = (fresh.queue, fresh.localPort)
    #expect(fresh == untouched)
    task.cancel()
    session.finishTasksAndInvalidate()
  }

  /// Objects that have one word of those that are read elsewhere than today's layout says.
  @Test func `each word is compared before it is followed`() throws {
    typealias Handle = Likeness._EasyHandle
    typealias Session = Likeness.URLSession
    func moved<Properties>(_ properties: Properties) -> Likeness.Moved<Properties> { .init(properties) }
    let (loader, task, session) = (Likeness.Loader(), Likeness.Task(Session()), Session())
    let raw = moved((rawHandle: UnsafeMutableRawPointer(bitPattern: 64), other: 0))
    let loaders: [AnyObject] = [
      moved((easyHandle: Handle() as AnyObject?, redirectCount: 3)),
      moved((other: 0, easyHandle: Handle() as AnyObject?, redirectCount: 3)),
      moved((redirectCount: 3, easyHandle: raw as AnyObject?)),
    ]
    let (handle, other, settings) = (session.multiHandle, Session().multiHandle, session._configuration)
    let table = moved((other: [1], another: [1], socketReferences: handle.socketReferences))
    let limit = (httpMaximumConnectionsPerHost: 7, identifier: 0, other: 0)
    let sessions: [any Likeness.URLSessionProtocol] = [
      moved((nextTaskIdentifier: 2, multiHandle: handle, _configuration: limit)),
      moved((other: 0, multiHandle: handle, _configuration: settings, nextTaskIdentifier: 2)),
      moved((nextTaskIdentifier: 2, other: other, _configuration: settings, multiHandle: handle)),
      moved((nextTaskIdentifier: 2, multiHandle: table, _configuration: settings)),
    ]
    let (existing, queue) = (session as (any Likeness.URLSessionProtocol)?, DispatchQueue(label: "other"))
    let tasks: [AnyObject] = [
      moved((session: existing, name: "a task")),
      moved((name: "a task", other: queue, session: existing, workQueue: handle.queue)),
      // Of a task that has no session there is nothing to compare with.
      Likeness.Task(nil),
    ]
    let layout = try #require(Likeness.layout())
    let wrong =
      loaders.filter { layout.holds(for: $0, of: task) }
      + (sessions.map { Likeness.Task($0) } + tasks).filter { layout.holds(for: loader, of: $0) }
    #expect(layout.holds(for: loader, of: task) && wrong.isEmpty, "\(wrong)")
  }

  @Test func `a weak property has the same name and type, and is not followed`() throws {
    let (session, handle) = (Likeness.URLSession(), Likeness._EasyHandle())
    let ofTask = try #require(Likeness.layout(task: Likeness.WeakTask.self))
    #expect(!ofTask.holds(for: Likeness.Loader(), of: Likeness.WeakTask(session)))
    let ofLoader = try #require(Likeness.layout(loader: Likeness.WeakLoader.self))
    #expect(!ofLoader.holds(for: Likeness.WeakLoader(handle), of: Likeness.Task(session)))
    withExtendedLifetime(handle) {}
  }

  @Test func `of a missing name there is no layout`() throws {
    #expect(Likeness.layout(loader: Likeness.OtherLoader.self) == nil)
    #expect(Likeness.layout(task: NSObject.self) == nil)
    // What is less important may be missing.
    let other = try #require(Likeness.layout(session: NSObject.self))
    #expect(other.holds(for: Likeness.Loader(), of: Likeness.Task(Likeness.URLSession())))
  }
}

/// A Foundation for trials: the types of today's, as far as the tap reads them.
enum Likeness {
  protocol URLSessionProtocol: AnyObject {}

  final class _EasyHandle {
    weak var delegate: NSObject?
    let rawHandle = UnsafeMutableRawPointer.allocate(byteCount: 8, alignment: 8)
    deinit { rawHandle.deallocate() }
  }

  final class URLSession: URLSessionProtocol {
    struct _Configuration {
      let identifier: String? = nil
      let httpMaximumConnectionsPerHost = 7
    }

    final class _MultiHandle {
      let queue = DispatchQueue(label: "trial")
      let socketReferences: [Int32: NSObject] = [7: NSObject()]
    }

    var nextTaskIdentifier = 2
    let multiHandle = _MultiHandle()
    let _configuration = _Configuration()
  }

  final class Task {
    let name = "a task"
    let workQueue = DispatchQueue(label: "trial")
    var session: (any URLSessionProtocol)?
    init(_ session: (any URLSessionProtocol)?) { self.session = session }
  }

  final class WeakTask {
    weak var session: (any URLSessionProtocol)?
    init(_ session: URLSession) { self.session = session }
  }

  final class Loader {
    var redirectCount = 3
    // The type that Foundation's has.
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    var easyHandle: _EasyHandle! = _EasyHandle()
  }

  final class WeakLoader {
    var redirectCount = 0
    weak var easyHandle: _EasyHandle?
    init(_ handle: _EasyHandle) { easyHandle = handle }
  }

  final class OtherLoader {
    var redirectCount = 0
    var handle: _EasyHandle? = _EasyHandle()
  }

  /// An object with these properties, in this order.
  final class Moved<Properties>: URLSessionProtocol, CustomReflectable {
    private let properties: Properties
    init(_ properties: Properties) { self.properties = properties }
    var customMirror: Mirror { Mirror(reflecting: properties) }
  }

  static func layout(
    loader: AnyClass = Loader.self, task: AnyClass = Task.self, session: AnyClass = URLSession.self
  ) -> FoundationLayout? {
    FoundationLayout(loader: loader, task: task, session: session, module: "TapURLSessionTests.Likeness")
  }
}

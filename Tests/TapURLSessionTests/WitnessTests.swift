import TestSupport

@testable import TapURLSession

/// What the tap reads of Foundation and of libcurl is checked: it is right, or absent.
@Suite struct WitnessTests {
  // MARK: Foundation's memory

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

  @Test func `a Foundation like today's holds, in any order of its properties`() throws {
    let layout = try #require(Likeness.layout())
    #expect(layout.holds(for: Likeness.Loader(), of: Likeness.Task(Likeness.URLSession())))
    // Of a task that has no session there is nothing to compare with.
    #expect(!layout.holds(for: Likeness.Loader(), of: Likeness.Task(nil)))
  }

  @Test func `a weak property has the same name and type, and is not followed`() throws {
    let (session, handle) = (Likeness.URLSession(), Likeness._EasyHandle())
    let ofTask = try #require(Likeness.layout(task: Likeness.WeakTask.self))
    #expect(!ofTask.holds(for: Likeness.Loader(), of: Likeness.WeakTask(session)))
    let ofLoader = try #require(Likeness.layout(loader: Likeness.WeakLoader.self))
    #expect(!ofLoader.holds(for: Likeness.WeakLoader(handle), of: Likeness.Task(session)))
    withExtendedLifetime(handle) {}
  }

  /// Objects that have one word of those that are read elsewhere than today's layout says.
  @Test func `each word is compared before it is followed`() throws {
    typealias Moved = Likeness.Moved
    let (layout, today) = (try #require(Likeness.layout()), Likeness.Task(Likeness.URLSession()))
    let loaders: [AnyObject] = [
      Moved.EasyHandle(), Moved.RedirectCount(), Moved.RawHandle(easyHandle: Moved.Handle()),
    ]
    for loader in loaders { #expect(!layout.holds(for: loader, of: today), "\(loader)") }
    let sessions: [any Likeness.URLSessionProtocol] = [
      Moved.Limit(), Moved.NextTask(), Moved.MultiHandle(), Moved.Table(),
    ]
    for session in sessions {
      #expect(!layout.holds(for: Likeness.Loader(), of: Moved.Task(session)), "\(session)")
    }
    let tasks: [AnyObject] = [
      Moved.Session(Likeness.URLSession()), Moved.WorkQueue(Likeness.URLSession()),
    ]
    for task in tasks { #expect(!layout.holds(for: Likeness.Loader(), of: task), "\(task)") }
  }

  @Test func `of a missing name there is no layout`() throws {
    #expect(Likeness.layout(loader: Likeness.OtherLoader.self) == nil)
    #expect(Likeness.layout(task: NSObject.self) == nil)
    // What is less important may be missing.
    let other = try #require(Likeness.layout(session: NSObject.self))
    #expect(other.holds(for: Likeness.Loader(), of: Likeness.Task(Likeness.URLSession())))
  }

  // MARK: Contradictions

  /// Of requests that libcurl says nothing of that could be used.
  private static func expectNothing(
    _ count: Int, within curl: CurlInfo?, contradictions: Int, isRejected: Bool
  ) async throws {
    // Without a length: what came by the relay is all that tells it.
    let origin = try Origin { _ in [.chunked(body: [1, 2, 3], chunk: 3)] }
    let rejections = Counter()
    var configuration = URLSessionTap.Configuration()
    configuration.curl = curl
    configuration.reportDisbelief = { _ in _ = rejections.next() }
    let (tap, observer) = URLSessionTap.observed(configuration: configuration)
    let session = tap.session()
    for _ in 0..<count { _ = try await session.data(from: origin.url()) }
    try await observer.waitForEnds(count)
    for observation in observer.ended {
      #expect(observation.end == .response(statusCode: 200) && observation.responseBodySize == 3)
      #expect(observation.timings.isEmpty && observation.protocolVersion == nil)
      #expect(observation.peerAddress == nil && observation.openedConnections == nil)
    }
    #expect(Witness.libcurl.contradictions == contradictions)
    #expect(Witness.libcurl.isBelieved == !isRejected && URLSessionTap.readsTransferInfo == !isRejected)
    #expect(rejections.next() == 1)
    #expect((questions.load(ordering: .relaxed) == 0) == isRejected)
  }

  /// How often a test's function was asked in place of libcurl's.
  private static let questions = Atomic<Int>(0)

  private static let lie: CurlInfo.GetInfo = { _, info, value in
    questions.add(1, ordering: .relaxed)
    // CURLINFO_STRING, of CURLINFO_TYPEMASK
    if info & 0xf0_0000 == 0x10_0000 { return 48 }
    // A status code that may well be: only Foundation's response tells another.
    value.storeBytes(of: info == CurlInfo.Field.responseCode.rawValue ? 204 : 42, as: Int.self)
    return 0
  }

  @Test func `libcurl that contradicts is counted and not used, soon without a comparison`() async {
    await #expect(processExitsWith: .success) {
      alarm(60)
      let curl = CurlInfo(of: TapContext.nativeHTTP, getInfo: Self.lie)
      try await Self.expectNothing(6, within: curl, contradictions: 3, isRejected: false)
    }
  }

  @Test func `some contradictions after many answers do no harm`() async {
    await #expect(processExitsWith: .success) {
      alarm(60)
      let (tap, observer) = URLSessionTap.observed()
      let origin = try Origin { _ in [.response(body: [1, 2, 3])] }
      let (session, count) = (tap.session(), 40)
      let request = with(URLRequest(url: origin.url())) { ($0.httpMethod, $0.httpBody) = ("POST", Data([1])) }
      for _ in 0..<count { _ = try await session.data(for: request) }
      try await observer.waitForEnds(count)
      #expect(Witness.libcurl.contradictions == 0 && Witness.kernel.contradictions == 0)
      for _ in 0..<3 { Witness.kernel.noteContradiction() }
      #expect(!Witness.kernel.rejectIfContradicted() && TCPInfo.isUsed)
    }
  }

  @Test func `of a Foundation whose words are others nothing is read`() async {
    await #expect(processExitsWith: .success) {
      alarm(60)
      let curl = CurlInfo(of: TapContext.nativeHTTP, layout: Likeness.layout(), getInfo: Self.lie)
      try await Self.expectNothing(2, within: curl, contradictions: 0, isRejected: true)
    }
  }

  @Test func `some contradictions among many answers are not enough`() {
    let witness = Witness("test")
    let isUnchecked = (0..<2).map { _ in witness.isUnchecked }
    #expect(isUnchecked == [true, false])
    for _ in 0..<16 {
      #expect(witness.isDue)
      witness.noteAgreement()
    }
    #expect(!witness.isDue)
    for _ in 16..<24 { witness.noteAgreement() }
    let verdicts = (0..<5).map { _ in
      witness.noteContradiction()
      return witness.rejectIfContradicted()
    }
    // Once.
    #expect(verdicts == [false, false, false, true, false])
    #expect(!witness.isBelieved && witness.contradictions == 5 && !witness.isDue)
    // Later a comparison is due once in 64 times.
    for _ in 24..<64 { witness.noteAgreement() }
    #expect(witness.isDue)
    // A few are none, even without an agreement.
    let silent = Witness("test")
    for _ in 0..<2 { silent.noteContradiction() }
    #expect(!silent.rejectIfContradicted())
  }

  @Test func `an odd server is doubted alone, and for a while`() {
    let (doubts, now) = (Doubts(), Instant.now)
    #expect(!doubts.contains("odd", at: now))
    // An agreement outweighs a contradiction.
    let reports = (0..<5).map { number in
      if number == 1 { doubts.noteAgreement(of: "odd") }
      return doubts.noteContradiction(of: "odd", at: now)
    }
    #expect(reports == [false, false, false, true, false])
    let (before, after) = (now.advanced(by: .seconds(599)), now.advanced(by: .seconds(600)))
    #expect(
      [("odd", before), ("other", now), ("odd", after), ("odd", now)].map { doubts.contains($0, at: $1) } == [
        true, false, false, false,
      ])
    // It begins anew. Servers beyond the limit are not remembered.
    #expect(!doubts.noteContradiction(of: "odd", at: after))
    for number in 0..<300 { _ = doubts.noteContradiction(of: "\(number)", at: now) }
    let known = (0..<300).filter { number in
      for _ in 0..<2 { _ = doubts.noteContradiction(of: "\(number)", at: now) }
      return doubts.contains("\(number)", at: now)
    }
    #expect(known == Array(0..<255))
  }

  /// What a test has libcurl say: numbers, and of a text whether it is empty.
  private static let answers = Mutex<[Int32: Int]>([:])
  nonisolated(unsafe) private static let emptyText = calloc(1, 1)
  nonisolated(unsafe) private static let address = strdup("192.0.2.1")

  private static let answer: CurlInfo.GetInfo = { _, info, value in
    guard let number = answers.withLock({ $0[info] }) else { return 48 }
    let isText = info == CurlInfo.Field.primaryAddress.rawValue
    let text = Int(bitPattern: number == 0 ? UnsafeRawPointer(emptyText) : UnsafeRawPointer(address))
    value.storeBytes(of: isText ? text : number, as: Int.self)
    return 0
  }

  @Test func `times of what was never sent, and numbers beyond all bounds, are not used`() throws {
    let loaderClass = try #require(TapContext.nativeHTTP)
    let curl = try #require(CurlInfo(of: loaderClass, getInfo: Self.answer))
    let session = URLSession(configuration: .ephemeral)
    defer { session.invalidateAndCancel() }
    let task = session.dataTask(with: try #require(URL(string: "http://127.0.0.1/")))
    let loader = loaderClass.init(task: task, cachedResponse: nil, client: nil)
    func read(isSecure: Bool = false, _ changes: [CurlInfo.Field: Int] = [:]) -> TransferInfo {
      let usual: [CurlInfo.Field: Int] = [
        .localPort: 4_711, .connectionCount: 1, .sentBytes: 9, .connect: 2, .appConnect: 3, .preTransfer: 5,
        .startTransfer: 6, .postTransfer: 7, .total: 8, .primaryAddress: 0,
      ]
      Self.answers.withLock { answers in
        answers = [:]
        for (field, number) in usual.merging(changes, uniquingKeysWith: { $1 }) {
          answers[field.rawValue] = number
        }
      }
      var transfer = TransferInfo()
      transfer.relay.isSecure = isSecure
      curl.read(loader, into: &transfer)
      return transfer
    }
    let sent = read(isSecure: true)
    #expect(sent.preTransfer == 5_000 && sent.startTransfer == 6_000 && sent.postTransfer == 7_000)
    #expect(sent.peer == nil && sent.appConnect == 3_000)
    for transfer in [read([.localPort: 0]), read(isSecure: true, [.appConnect: 0])] {
      #expect(transfer.preTransfer == 0 && transfer.startTransfer == 0 && transfer.postTransfer == nil)
      #expect(transfer.total == 8_000)
    }
    // There are no such times of a connection that was open.
    #expect(read([.connectionCount: 0]).connect == 0)
    #expect(read([.sentBytes: 0]).postTransfer == nil)
    let longest = read([.total: .max, .startTransfer: .min])
    #expect(longest.total == 1_000_000_000_000_000_000 && longest.startTransfer == -longest.total)

    // Each number is what it is taken for. Of a request that was sent again, what libcurl says of the wait is
    // of the first attempt.
    let others: [CurlInfo.Field: Int] = [
      .primaryAddress: 1, .primaryPort: 443, .responseCode: 206, .receivedBytes: 10, .nameLookup: 1,
    ]
    var whole = TransferInfo()
    (whole.isNative, whole.relay.isSecure, whole.statusCode, whole.connectionCount) = (true, true, 206, 1)
    (whole.localPort, whole.peer) = (4_711, .init(address: "192.0.2.1", port: 443))
    (whole.sentBytes, whole.receivedBytes, whole.nameLookup, whole.connect) = (9, 10, 1_000, 2_000)
    (whole.appConnect, whole.preTransfer, whole.postTransfer) = (3_000, 5_000, 7_000)
    (whole.startTransfer, whole.total) = (6_000, 8_000)
    #expect(read(isSecure: true, others) == whole)
    whole.resend = 1_000
    #expect(read(isSecure: true, others.merging([.redirect: 1]) { $1 }) == whole)
    // Of all libcurls that tell the wait, 8.6 counts the other times from the turn.
    let isFromTurn = Scenario.isCurl("8.6") && !Scenario.isCurl("8.7")
    let waited = read([.queue: 1, .nameLookup: 2])
    #expect(waited.queue == 1_000 && waited.nameLookup == (isFromTurn ? 2_000 : 1_000))
    let waitOfFirst: Int64? = isFromTurn ? nil : 2_000
    #expect(read([.queue: 4, .redirect: 1]).queue == waitOfFirst)
    let versions: [Int: NetworkProtocolVersion] = [1: .http10, 2: .http11, 3: .http2, 30: .http3]
    for number in [0, 1, 2, 3, 30] {
      #expect(read([.httpVersion: number]).protocolVersion == versions[number])
    }
  }

  @Test func `what libcurl says must agree with what passed`() throws {
    let url = try #require(URL(string: "http://a.test/"))
    func response(_ headers: [String: String] = [:]) -> HTTPURLResponse? {
      HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: headers)
    }
    func agrees(_ response: HTTPURLResponse?, _ change: (inout TransferInfo) -> Void = { _ in }) -> Bool {
      var transfer = TransferInfo()
      (transfer.statusCode, transfer.receivedBytes, transfer.relay.loadedBytes) = (200, 5, 5)
      (transfer.elapsed, transfer.total, transfer.startTransfer) = (100_000_000, 99_000_000, 50_000_000)
      change(&transfer)
      return transfer.agrees(with: response)
    }
    #expect(agrees(response()) && agrees(nil))
    #expect(!agrees(response()) { $0.statusCode = 404 })
    #expect(!agrees(response()) { $0.statusCode = 0 })
    #expect(!agrees(nil) { ($0.statusCode, $0.relay.statusCode) = (404, 200) })
    #expect(!agrees(nil) { $0.total = 200_000_000 } && !agrees(nil) { $0.total = -1 })
    // 20 ms, and a 64th of the tap's own time, are the difference of two clocks.
    #expect(agrees(nil) { $0.total = 121_000_000 } && !agrees(nil) { $0.total = 122_000_000 })
    #expect(!agrees(nil) { $0.startTransfer = 200_000_000 } && !agrees(nil) { $0.receivedBytes = -1 })
    #expect(!agrees(nil) { $0.startTransfer = -1 } && agrees(nil) { $0.receivedBytes = nil })
    #expect(agrees(response()) { $0.relay.loadedBytes = nil })
    #expect(!agrees(response()) { $0.receivedBytes = 4 })
    #expect(agrees(response(["Content-Encoding": "gzip"])) { $0.receivedBytes = 4 })
    #expect(agrees(response()) { ($0.receivedBytes, $0.redirectCount) = (4, 1) })
    #expect(agrees(response()) { ($0.receivedBytes, $0.relay.restart) = (4, 1) })
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
    init(_ session: URLSession?) { self.session = session }
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

  /// The same, each with another order of its properties.
  enum Moved {
    final class EasyHandle {
      var easyHandle: AnyObject? = _EasyHandle()
      var redirectCount = 3
    }

    final class RedirectCount {
      let other = 0
      var easyHandle: AnyObject? = _EasyHandle()
      var redirectCount = 3
    }

    final class RawHandle {
      var redirectCount = 3
      var easyHandle: AnyObject?
      init(easyHandle: AnyObject) { self.easyHandle = easyHandle }
    }

    final class Handle {
      let rawHandle = UnsafeMutableRawPointer(bitPattern: 64)
      let other = 0
    }

    final class Task {
      let name = "a task"
      let workQueue = DispatchQueue(label: "trial")
      var session: (any URLSessionProtocol)?
      init(_ session: any URLSessionProtocol) { self.session = session }
    }

    final class WorkQueue {
      let name = "a task"
      let other = DispatchQueue(label: "other")
      var session: (any URLSessionProtocol)?
      let workQueue = DispatchQueue(label: "trial")
      init(_ session: any URLSessionProtocol) { self.session = session }
    }

    final class Session {
      var session: (any URLSessionProtocol)?
      let name = "a task"
      init(_ session: any URLSessionProtocol) { self.session = session }
    }

    final class Limit: URLSessionProtocol {
      var nextTaskIdentifier = 2
      let multiHandle = URLSession._MultiHandle()
      let _configuration = (httpMaximumConnectionsPerHost: 7, identifier: 0, other: 0)
    }

    final class NextTask: URLSessionProtocol {
      let other = 0
      let multiHandle = URLSession._MultiHandle()
      let _configuration = URLSession._Configuration()
      var nextTaskIdentifier = 2
    }

    final class MultiHandle: URLSessionProtocol {
      var nextTaskIdentifier = 2
      let other = URLSession._MultiHandle()
      let _configuration = URLSession._Configuration()
      let multiHandle = URLSession._MultiHandle()
    }

    final class Table: URLSessionProtocol {
      final class Handle {
        let other = [1, 2]
        let another = [1, 2]
        let socketReferences: [Int32: NSObject] = [7: NSObject()]
      }

      var nextTaskIdentifier = 2
      let multiHandle = Handle()
      let _configuration = URLSession._Configuration()
    }
  }

  static func layout(
    loader: AnyClass = Loader.self, task: AnyClass = Task.self, session: AnyClass = URLSession.self
  ) -> FoundationLayout? {
    FoundationLayout(loader: loader, task: task, session: session, module: "TapURLSessionTests.Likeness")
  }
}

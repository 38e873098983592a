import TestSupport

@testable import TapURLSession

/// One test at a time says what libcurl answers.
@Suite(.serialized) struct CurlInfoTests {
  @Test func `libcurl's info can be read on this toolchain`() {
    let info = CurlInfo.shared
    #expect(
      info != nil,
      """
      The stored properties of Foundation's native loader have changed: compare `easyHandle` and `redirectCount` in \
      NativeProtocol.swift and HTTPURLProtocol.swift, `rawHandle` in EasyHandle.swift, `session` in URLSessionTask.swift, \
      `_configuration` in URLSession.swift and `httpMaximumConnectionsPerHost` in Configuration.swift with \
      FoundationLayout.swift
      """)
  }

  @Test func `there is none for another class`() throws {
    #expect(CurlInfo(of: MockProtocol.self) == nil)
    #expect(CurlInfo(of: NSObject.self) == nil)
    #expect(CurlInfo(of: nil) == nil)
    let info = try #require(CurlInfo.shared)
    let url = try #require(URL(string: "http://mock.test/"))
    let mock = MockProtocol(request: URLRequest(url: url), cachedResponse: nil, client: nil)
    var transfer = TransferInfo()
    info.read(mock, into: &transfer)
    #expect(transfer == TransferInfo())
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

  /// What is read of a new loader where libcurl gives these numbers beside the usual ones.
  private static func read(
    isSecure: Bool = false, _ changes: [CurlInfo.Field: Int] = [:]
  ) throws -> TransferInfo {
    let usual: [CurlInfo.Field: Int] = [
      .localPort: 4_711, .connectionCount: 1, .sentBytes: 9, .connect: 2, .appConnect: 3, .preTransfer: 5,
      .startTransfer: 6, .postTransfer: 7, .total: 8, .primaryAddress: 0,
    ]
    let said = usual.merging(changes) { $1 }.map { ($0.key.rawValue, $0.value) }
    answers.withLock { $0 = Dictionary(uniqueKeysWithValues: said) }
    let loaderClass = try #require(TapContext.nativeHTTP)
    let curl = try #require(CurlInfo(of: loaderClass, getInfo: answer))
    let session = URLSession(configuration: .ephemeral)
    defer { session.invalidateAndCancel() }
    let task = session.dataTask(with: try #require(URL(string: "http://127.0.0.1/")))
    var transfer = with(TransferInfo()) { $0.relay.isSecure = isSecure }
    curl.read(loaderClass.init(task: task, cachedResponse: nil, client: nil), into: &transfer)
    return transfer
  }

  @Test func `each number is what it is taken for`() throws {
    let usual = with(TransferInfo()) {
      ($0.isNative, $0.relay.isSecure, $0.connectionCount, $0.localPort) = (true, true, 1, 4_711)
      ($0.sentBytes, $0.connect, $0.appConnect) = (9, 2_000, 3_000)
      ($0.preTransfer, $0.postTransfer, $0.startTransfer, $0.total) = (5_000, 7_000, 6_000, 8_000)
    }
    let others: [CurlInfo.Field: Int] = [
      .primaryAddress: 1, .primaryPort: 443, .responseCode: 206, .receivedBytes: 10, .nameLookup: 1,
    ]
    let whole = with(usual) {
      ($0.statusCode, $0.receivedBytes, $0.nameLookup) = (206, 10, 1_000)
      $0.peer = .init(address: "192.0.2.1", port: 443)
    }
    let neverSent = with(usual) { ($0.preTransfer, $0.postTransfer, $0.startTransfer) = (0, nil, 0) }
    let year31 = 1_000_000_000_000_000_000 as Int64
    let rows: [([CurlInfo.Field: Int], TransferInfo)] = [
      ([:], usual), (others, whole),
      (others.merging([.redirect: 1]) { $1 }, with(whole) { $0.resend = 1_000 }),
      // There are no such times of a connection that was open, of what was never sent, of a handshake without
      // an end, or without a body.
      ([.connectionCount: 0], with(usual) { ($0.connectionCount, $0.connect, $0.appConnect) = (0, 0, 0) }),
      ([.localPort: 0], with(neverSent) { $0.localPort = 0 }),
      ([.appConnect: 0], with(neverSent) { $0.appConnect = 0 }),
      ([.sentBytes: 0], with(usual) { ($0.sentBytes, $0.postTransfer) = (0, nil) }),
      (
        [.total: .max, .startTransfer: .min],
        with(usual) { ($0.total, $0.startTransfer) = (year31, -year31) }
      ),
    ]
    try expectEqual(rows.map { try Self.read(isSecure: true, $0.0) }, rows.map(\.1))
    #expect(try Self.read([.appConnect: 0]).preTransfer == 5_000)
    let versions: [NetworkProtocolVersion?] = [nil, .http10, .http11, .http2, .http3]
    try expectEqual([0, 1, 2, 3, 30].map { try Self.read([.httpVersion: $0]).protocolVersion }, versions)
    // Of all libcurls that tell the wait, 8.6 counts the other times from the turn, and of a request that was
    // sent again the first attempt as a wait.
    let isFromTurn = Scenario.isCurl("8.6") && !Scenario.isCurl("8.7")
    let waited = try Self.read([.queue: 1, .nameLookup: 2])
    #expect((waited.queue, waited.nameLookup) == (1_000, isFromTurn ? 2_000 : 1_000))
    #expect(try Self.read([.queue: 4, .redirect: 1]).queue == (isFromTurn ? nil : 2_000))
  }
}

import TestSupport

@testable import TapURLSession

/// What libcurl and the kernel say is compared with what passed: it is right, or absent.
struct WitnessTests {
  /// Of requests that libcurl says nothing of that could be used.
  private static func expectNothing(
    _ count: Int, within curl: CurlInfo?, contradictions: Int, isRejected: Bool
  ) async throws {
    // Without a length: what came by the relay is all that tells it.
    let origin = try Origin { _ in [.chunked(body: [1, 2, 3], chunk: 3)] }
    let rejections = Atomic(0)
    var configuration = URLSessionTap.Configuration()
    configuration.curl = curl
    configuration.reportDisbelief = { _ in rejections.add(1, ordering: .relaxed) }
    let (tap, observer) = URLSessionTap.observed(configuration: configuration)
    let session = tap.session()
    for _ in 0..<count { _ = try await session.data(from: origin.url()) }
    try await observer.waitForEnds(count)
    for observation in observer.ended {
      #expect(observation.end == .response(statusCode: 200) && observation.responseBodySize == 3)
      #expect(observation.timings.isEmpty && observation.timeToFirstByte == nil)
      #expect(observation.protocolVersion == nil)
      #expect(observation.peerAddress == nil && observation.openedConnections == nil)
    }
    #expect(Witness.libcurl.contradictions == contradictions)
    #expect(configuration.readsTransferInfo == !isRejected)
    let count = rejections.load(ordering: .relaxed)
    #expect(count == 1)
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

  @Test(.needs(.program)) func `libcurl that contradicts is counted and not used, soon without a comparison`()
    async
  {
    await #expect(processExitsWith: .success) {
      alarm(60)
      let curl = CurlInfo(of: TapContext.nativeHTTP, getInfo: Self.lie)
      try await Self.expectNothing(6, within: curl, contradictions: 3, isRejected: false)
    }
  }

  @Test(.needs(.program)) func `some contradictions after many answers do no harm`() async {
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

  @Test(.needs(.program)) func `of a Foundation whose words are others nothing is read`() async {
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
    let reports = (0..<6).map { number in
      if [1, 3].contains(number) { doubts.noteAgreement(of: "odd") }
      return doubts.noteContradiction(of: "odd", at: now)
    }
    #expect(reports == [false, false, false, false, true, false])
    let (before, after) = (now.advanced(by: .seconds(599)), now.advanced(by: .seconds(600)))
    let asked: [(String, Instant)] = [("odd", before), ("other", now), ("odd", after), ("odd", now)]
    expectEqual(asked.map { doubts.contains($0, at: $1) }, [true, false, false, false])
    // It begins anew. Servers beyond the limit are not remembered.
    #expect(!doubts.noteContradiction(of: "odd", at: after))
    for number in 0..<300 { _ = doubts.noteContradiction(of: "\(number)", at: now) }
    let known = (0..<300).filter { number in
      for _ in 0..<2 { _ = doubts.noteContradiction(of: "\(number)", at: now) }
      return doubts.contains("\(number)", at: now)
    }
    #expect(known == Array(0..<255))
  }

  @Test func `what libcurl says must agree with what passed`() throws {
    typealias Change = (inout TransferInfo) -> Void
    let url = try #require(URL(string: "http://a.test/"))
    func response(_ headers: [String: String] = [:]) -> HTTPURLResponse? {
      HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: headers)
    }
    func agrees(_ response: HTTPURLResponse?, _ change: Change) -> Bool {
      var transfer = TransferInfo()
      (transfer.statusCode, transfer.receivedBytes, transfer.relay.loadedBytes) = (200, 5, 5)
      (transfer.elapsed, transfer.total, transfer.startTransfer) = (100_000_000, 99_000_000, 50_000_000)
      change(&transfer)
      return transfer.agrees(with: response)
    }
    let (whole, gzip) = (response(), response(["Content-Encoding": "gzip"]))
    let fits: [(HTTPURLResponse?, Change)] = [
      (whole, { _ in }), (nil, { _ in }),
      // 20 ms, and a 64th of the tap's own time, are the difference of two clocks.
      (nil, { $0.total = 121_000_000 }), (nil, { $0.receivedBytes = nil }),
      (whole, { $0.relay.loadedBytes = nil }), (gzip, { $0.receivedBytes = 4 }),
      (whole, { ($0.receivedBytes, $0.redirectCount) = (4, 1) }),
      (whole, { ($0.receivedBytes, $0.relay.restart) = (4, 1) }),
    ]
    let contradicts: [(HTTPURLResponse?, Change)] = [
      (whole, { $0.statusCode = 404 }), (whole, { $0.statusCode = 0 }), (whole, { $0.receivedBytes = 4 }),
      (nil, { ($0.statusCode, $0.relay.statusCode) = (404, 200) }), (nil, { $0.total = -1 }),
      (nil, { $0.total = 122_000_000 }), (nil, { $0.startTransfer = 200_000_000 }),
      (nil, { $0.startTransfer = -1 }), (nil, { $0.receivedBytes = -1 }),
    ]
    let all = fits + contradicts
    expectEqual(all.map { agrees($0, $1) }, all.indices.map { $0 < fits.count })
  }
}

import TestSupport

@testable import TapCore

@Suite struct BlackBoxSlotTests {
  private final class Slots: @unchecked Sendable {
    let memory = UnsafeMutableRawPointer.allocate(byteCount: 4 * BlackBoxSlot.size, alignment: 8)
    init() { memory.initializeMemory(as: UInt8.self, repeating: 0, count: 4 * BlackBoxSlot.size) }
    deinit { memory.deallocate() }

    subscript(index: Int) -> BlackBoxSlot {
      BlackBoxSlot(at: memory + index * BlackBoxSlot.size)
    }

    var bytes: [UInt8] { Array(UnsafeRawBufferPointer(start: memory, count: 4 * BlackBoxSlot.size)) }
    var reading: BlackBoxSlot.Reading { .init(bytes, before: bytes, after: bytes) }
  }

  /// Shows a URL as it is.
  private static let writeURL: BlackBox.WriteURL = { url, _, target in
    target.copyBytes(from: url.utf8.prefix(target.count))
    return url.utf8.count
  }

  private func written(
    _ request: RequestDescription, _ writeURL: BlackBox.WriteURL? = writeURL
  ) -> RequestDescription? {
    let slots = Slots()
    slots[1].write(
      request, .active, isToldByApp: true, at: Instant(nanoseconds: 7), Timestamp(nanosecondsSinceEpoch: 9),
      writeURL)
    let reading = slots.reading
    #expect(reading.requests.map(\.begin.nanoseconds) == [7])
    #expect(reading.requests.map(\.time.nanosecondsSinceEpoch) == [9])
    return reading.requests.first?.request
  }

  private static let trace = TraceContext(
    traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00")

  @Test func `what is written is read, in both directions`() {
    let requests = [
      RequestDescription(
        client: "payments", method: "POST", url: "https://[::1]:8443/orders/7", serverAddress: "::1",
        serverPort: 8443, urlTemplate: "/orders/{id}", traceContext: Self.trace),
      RequestDescription(
        direction: .inbound, method: "GET", url: "/ü", urlTemplate: "/{name}", scheme: "https",
        traceContext: Self.trace),
      // Whose server is unknown.
      RequestDescription(client: "", method: "", url: "https://REDACTED"),
      RequestDescription(client: "c", method: "GET", url: "", urlTemplate: String(repeating: "t", count: 92)),
    ]
    #expect(requests.map { written($0) } == requests)
  }

  @Test func `a text that does not fit is cut between characters, and marked`() {
    let long = RequestDescription(
      client: String(repeating: "c", count: 100), method: String(repeating: "M", count: 17),
      url: "http://host:8080/" + String(repeating: "ü", count: 200), serverAddress: "host", serverPort: 8080,
      urlTemplate: String(repeating: "t", count: 93))
    let read = written(long)
    #expect(
      read
        == RequestDescription(
          client: String(repeating: "c", count: 55) + "…", method: String(repeating: "M", count: 15) + "…",
          url: "http://host:8080/" + String(repeating: "ü", count: 103) + "…", serverAddress: "host",
          serverPort: 8080, urlTemplate: String(repeating: "t", count: 91) + "…"))
  }

  @Test func `where the app has a rule for what is shown, there are the names of its code and the host`() {
    let request = RequestDescription(
      client: "payments", method: "s3cret", url: "https://host/s3cret", serverAddress: "host",
      serverPort: 443, urlTemplate: "/{id}")
    #expect(
      written(request, nil)
        == RequestDescription(
          client: "payments", method: "_OTHER", serverAddress: "host", serverPort: 443, urlTemplate: "/{id}"))
  }

  @Test func `a slot that is being written, or was meanwhile, is left out and counted`() {
    let slots = Slots()
    func write(_ index: Int, _ state: BlackBoxSlot.State = .active) {
      slots[index].write(
        RequestDescription(client: "\(index)", method: "GET"), state, isToldByApp: false, at: .now, .now, nil)
    }
    for index in 0..<4 { write(index) }
    let before = slots.bytes
    slots[1].begin(at: .now, .now)
    slots[2].free(at: Instant(nanoseconds: .max))
    let after = slots.bytes
    var reading = BlackBoxSlot.Reading(before, before: before, after: after)
    #expect(reading.requests.map(\.request.client) == ["0", "3"])
    #expect(reading.tornCount == 2)
    // Whatever a process was at when it died.
    let torn = Mutex<[UInt8]>([])
    slots[3].write(RequestDescription(client: "", method: ""), .active, isToldByApp: false, at: .now, .now) {
      _, _, _ in
      torn.withLock { $0 = slots.bytes }
      return 0
    }
    let bytes = torn.withLock { $0 }
    reading = BlackBoxSlot.Reading(bytes, before: bytes, after: bytes)
    #expect(reading.requests.map(\.request.client) == ["0", "1"])
    #expect(reading.tornCount == 1)
    #expect(reading.last?.nanoseconds == .max)
  }

  @Test func `any bytes are read as something`() {
    var generator = SeededGenerator(seed: 20_261_127)
    for round in 0..<200 {
      var bytes = (0..<(2 * BlackBoxSlot.size)).map { _ in UInt8.random(in: 0...255, using: &generator) }
      // States that count.
      bytes[0] = [2, 4][round % 2]
      let reading = BlackBoxSlot.Reading(bytes, before: bytes, after: bytes)
      #expect(!reading.requests.isEmpty)
    }
  }
}

import Synchronization

/// The bytes of one request in a black box: numbers at fixed places, and texts that are cut to fit. A slot
/// has one writer at a time, and readers in other processes.
///
/// The state word says that the slot is being written, and is another one after each change (a sequence
/// lock). So a reader sees whether it has read one request as a whole, also if the writer died meanwhile.
struct BlackBoxSlot {
  static let size = 512

  /// The low bits of the state word. The rest counts the changes.
  enum State: UInt64 {
    case free = 0
    case writing = 1
    case unstarted = 2
    case active = 4
  }

  private static let stateMask: UInt64 = 7
  private static let stateStep: UInt64 = 8

  /// Where the numbers are.
  private enum Place {
    static let state = 0
    /// Begin and end on the monotonic clock. The end is that of the slot's last request that has ended.
    static let begin = 8
    static let end = 16
    /// The begin on the wall clock.
    static let beginTime = 24
    static let trace = 32
    static let span = 48
    static let statusCode = 56
    static let flags = 58
    /// The length of each text.
    static let lengths = 60
    /// Of the server, or -1.
    static let port = 72
    static let texts = 76
  }

  /// What is true of the request.
  private struct Flags: OptionSet {
    let rawValue: UInt8
    static let inbound = Flags(rawValue: 1)
    static let traced = Flags(rawValue: 2)
    /// The server is in the URL.
    static let hasServer = Flags(rawValue: 4)
    /// The app says when the response begins.
    static let toldByApp = Flags(rawValue: 8)
  }

  private enum Text: Int {
    case client, method, scheme, host, template, url

    // Constants, and no tables: they are asked for six times a request.
    @inline(__always) var limit: Int {
      switch self {
      case .client: 56
      case .method: 16
      case .scheme: 8
      case .host: 40
      case .template: 92
      case .url: 224
      }
    }

    @inline(__always) var place: Int {
      switch self {
      case .client: Place.texts
      case .method: Place.texts + 56
      case .scheme: Place.texts + 72
      case .host: Place.texts + 80
      case .template: Place.texts + 120
      case .url: Place.texts + 212
      }
    }
  }

  /// Set in a text's length: the text was cut.
  private static let cutMark: UInt16 = 0x8000

  private let memory: UnsafeMutableRawPointer

  /// - Parameter memory: ``size`` bytes, aligned to 8.
  init(at memory: UnsafeMutableRawPointer) { self.memory = memory }

  private var state: UnsafeMutablePointer<Atomic<UInt64>> {
    memory.assumingMemoryBound(to: Atomic<UInt64>.self)
  }

  /// Writes what `body` writes, and then the state.
  private func change(to next: State, _ body: () -> Void) {
    let before = state.pointee.load(ordering: .relaxed) & ~Self.stateMask
    state.pointee.store(before | State.writing.rawValue, ordering: .relaxed)
    atomicMemoryFence(ordering: .releasing)
    body()
    state.pointee.store((before &+ Self.stateStep) | next.rawValue, ordering: .releasing)
  }

  /// Writes a request.
  ///
  /// - Parameters:
  ///   - isToldByApp: The app says when the response begins.
  ///   - writeURL: `nil` shows nothing of a request but what the app's code has named.
  func write(
    _ request: borrowing RequestDescription, _ next: State, isToldByApp: Bool, at begin: Instant,
    _ time: Timestamp, _ writeURL: BlackBox.WriteURL?
  ) {
    change(to: next) {
      memory.storeBytes(of: begin.nanoseconds, toByteOffset: Place.begin, as: Int64.self)
      memory.storeBytes(of: time.nanosecondsSinceEpoch, toByteOffset: Place.beginTime, as: Int64.self)
      memory.storeBytes(of: 0, toByteOffset: Place.statusCode, as: UInt16.self)
      var flags: Flags = request.direction == .inbound ? .inbound : []
      if isToldByApp { flags.insert(.toldByApp) }
      if let trace = request.traceContext {
        flags.insert(.traced)
        memory.storeBytes(of: trace.traceBits, toByteOffset: Place.trace, as: TraceContext.TraceBits.self)
        memory.storeBytes(of: trace.spanBits, toByteOffset: Place.span, as: UInt64.self)
      }
      let port = Int32(clamping: request.serverPort ?? -1)
      memory.storeBytes(of: port, toByteOffset: Place.port, as: Int32.self)
      if request.serverAddress != nil, writeURL != nil { flags.insert(.hasServer) }
      memory.storeBytes(of: flags.rawValue, toByteOffset: Place.flags, as: UInt8.self)
      write(request.client, as: .client)
      write(request.urlTemplate, as: .template)
      write(request.scheme == nil ? nil : request.knownScheme, as: .scheme)
      if let writeURL {
        write(request.method, as: .method)
        write(nil, as: .host)
        let memory = UnsafeMutableRawBufferPointer(start: memory + Text.url.place, count: Text.url.limit)
        setLength(of: .url, writeURL(request.url, request.direction, memory))
      } else {
        write(request.methodLabel, as: .method)
        write(request.serverAddress, as: .host)
        write(nil, as: .url)
      }
    }
  }

  /// The request that was unstarted begins.
  func begin(at begin: Instant, _ time: Timestamp) {
    change(to: .active) {
      memory.storeBytes(of: begin.nanoseconds, toByteOffset: Place.begin, as: Int64.self)
      memory.storeBytes(of: time.nanosecondsSinceEpoch, toByteOffset: Place.beginTime, as: Int64.self)
    }
  }

  /// The head of the response has come or gone.
  func note(statusCode: Int, template: String?) {
    change(to: .active) {
      memory.storeBytes(of: UInt16(clamping: statusCode), toByteOffset: Place.statusCode, as: UInt16.self)
      if let template { write(template, as: .template) }
    }
  }

  /// The request has ended. A process that dies between the two leaves an ended request, and a little less
  /// known of its last moment.
  func free(at end: Instant) {
    let before = state.pointee.load(ordering: .relaxed) & ~Self.stateMask
    state.pointee.store((before &+ Self.stateStep) | State.free.rawValue, ordering: .releasing)
    memory.storeBytes(of: end.nanoseconds, toByteOffset: Place.end, as: Int64.self)
  }

  @inline(__always)
  private func write(_ text: String?, as kind: Text) {
    guard var text else { return setLength(of: kind, 0) }
    let (target, limit) = (memory + kind.place, kind.limit)
    let count = text.withUTF8 { bytes in
      if let source = bytes.baseAddress {
        target.copyMemory(from: source, byteCount: min(bytes.count, limit))
      }
      return bytes.count
    }
    setLength(of: kind, count)
  }

  @inline(__always)
  private func setLength(of kind: Text, _ count: Int) {
    let length = count <= kind.limit ? UInt16(count) : UInt16(kind.limit) | Self.cutMark
    memory.storeBytes(of: length, toByteOffset: Place.lengths + 2 * kind.rawValue, as: UInt16.self)
  }
}

extension BlackBoxSlot {
  /// The requests of many slots that were read three times, one after another. A slot whose state was the
  /// same the first and the last time was not written meanwhile.
  struct Reading {
    private(set) var requests: [BlackBoxContent.Request] = []
    /// Slots that were being written.
    private(set) var tornCount = 0
    /// The last begin or end.
    private(set) var last: Instant?

    init(_ slots: [UInt8], before: [UInt8], after: [UInt8]) {
      let count = min(slots.count, before.count, after.count) / BlackBoxSlot.size
      for offset in (0..<count).map({ $0 * BlackBoxSlot.size }) {
        slots.withUnsafeBytes { bytes in
          let slot = UnsafeRawBufferPointer(rebasing: bytes[offset..<(offset + BlackBoxSlot.size)])
          let states = [before, after].map { slots in
            slots.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
          }
          read(slot, isWhole: states[0] == states[1], states[1])
        }
      }
    }

    private mutating func read(_ slot: UnsafeRawBufferPointer, isWhole: Bool, _ state: UInt64) {
      func number<Number: BitwiseCopyable>(_ place: Int, _ type: Number.Type) -> Number {
        slot.loadUnaligned(fromByteOffset: place, as: type)
      }
      guard isWhole, let state = State(rawValue: state & BlackBoxSlot.stateMask), state != .writing else {
        tornCount += 1
        return
      }
      let (begin, end) = (number(Place.begin, Int64.self), number(Place.end, Int64.self))
      let newest = Instant(nanoseconds: max(begin, end))
      // One that was never used says nothing.
      if newest.nanoseconds != 0 { last = max(last ?? newest, newest) }
      if state == .free { return }
      func text(_ kind: Text) -> String? {
        let length = number(Place.lengths + 2 * kind.rawValue, UInt16.self)
        let isCut = length & BlackBoxSlot.cutMark != 0
        let count = min(Int(length & ~BlackBoxSlot.cutMark), kind.limit)
        if count == 0 { return nil }
        let bytes = UnsafeRawBufferPointer(rebasing: slot[kind.place..<(kind.place + count)])
        guard isCut else { return String(decoding: bytes, as: UTF8.self) }
        // Without its last character, of which there may be a part.
        let end: Int = bytes.indices.suffix(4).last { bytes[$0] & 0xC0 != 0x80 } ?? count
        return String(decoding: bytes[..<end], as: UTF8.self) + "…"
      }
      let flags = Flags(rawValue: number(Place.flags, UInt8.self))
      let url = text(.url)
      let host = flags.contains(.hasServer) ? url.flatMap { URLAuthority($0)?.host } : text(.host)
      let port = number(Place.port, Int32.self)
      let request = RequestDescription(
        direction: flags.contains(.inbound) ? .inbound : .outbound, client: text(.client) ?? "",
        method: text(.method) ?? "", url: url ?? "", serverAddress: host,
        serverPort: port < 0 ? nil : Int(port), urlTemplate: text(.template), scheme: text(.scheme),
        traceContext: flags.contains(.traced)
          ? TraceContext(
            .init(high: number(Place.trace, UInt64.self), low: number(Place.trace + 8, UInt64.self)),
            span: number(Place.span, UInt64.self)) : nil)
      let statusCode = number(Place.statusCode, UInt16.self)
      requests.append(
        .init(
          request: request, isStarted: state == .active, isToldByApp: flags.contains(.toldByApp),
          begin: Instant(nanoseconds: begin),
          time: Timestamp(nanosecondsSinceEpoch: number(Place.beginTime, Int64.self)),
          statusCode: statusCode == 0 ? nil : Int(statusCode)))
    }
  }
}

import TapCore
package import TapFoundation
import TapLibc

/// Reads what libcurl knows of a transfer (its *info*, `curl_easy_getinfo(3)`) from the native loader that drives it.
///
/// Foundation on Linux measures nothing (swift-corelibs-foundation #4988). Its loader (`_HTTPURLProtocol`) stores `easyHandle`, an
/// `_EasyHandle`, which stores `rawHandle`, libcurl's `CURL *`. The offsets of these properties come from the metadata that the
/// compiler writes for reflection; their names and types are checked, and where anything differs there is no info.
///
/// All reads of Foundation's memory stand in this file. A loader is read only if its class is exactly the one whose layout was found,
/// and on the queue on which Foundation changes it. `curl_easy_getinfo` gets the kind of pointer that the number of the info implies
/// (`curl/curl.h`).
package struct CurlInfo: Sendable {
  private typealias GetInfo =
    @convention(c) (UnsafeMutableRawPointer, Int32, UnsafeMutableRawPointer) -> Int32

  /// That of this process, or `nil` where there is none: see ``init(of:)``.
  package static let shared = CurlInfo(of: TapContext.nativeHTTP)

  /// `curl_version(3)`, which begins like `libcurl/8.23.0`, or `nil` without libcurl in reach.
  package static let version: String? = {
    typealias Version = @convention(c) () -> UnsafePointer<CChar>
    return dlsym(nil, "curl_version").map { String(cString: unsafeBitCast($0, to: Version.self)()) }
  }()

  private let loaderClass: ObjectIdentifier
  private let easyHandle: Int
  private let rawHandle: Int
  private let redirectCount: Int
  private let session: Int
  private let connectionLimit: Int?
  private let nextTask: Int?
  private let isTimeoutSet: Int?
  private let sockets: (multiHandle: Int, table: Int, type: any DescriptorTable.Type)?
  private let getInfo: GetInfo
  /// Of all that tell the wait, 8.6 alone counts from the turn.
  private let countsFromTurn: Bool

  /// Finds the layout of a loader class. `nil` where its properties differ, without libcurl in reach, and on platforms where a variadic
  /// C function cannot be called like another: on x86-64 and on arm64 Linux variadic pointers travel in the same registers as named
  /// ones (System V ABI, section 3.5.7; AAPCS64, section 6.4), on Apple's arm64 they do not.
  init?(of loaderClass: AnyClass?) {
    #if os(Linux) && (arch(x86_64) || arch(arm64))
      guard let loaderClass, loaderClass is URLProtocol.Type,
        let easyHandle = StoredProperty(
          "easyHandle", of: loaderClass, type: "Swift.Optional<FoundationNetworking._EasyHandle>"),
        let handleClass = easyHandle.wrappedClass,
        let rawHandle = StoredProperty("rawHandle", of: handleClass, type: "Swift.UnsafeMutableRawPointer"),
        let redirectCount = StoredProperty("redirectCount", of: loaderClass, type: "Swift.Int"),
        let session = StoredProperty(
          "session", of: URLSessionTask.self, type: "Swift.Optional<FoundationNetworking.URLSessionProtocol>"),
        let symbol = dlsym(nil, "curl_easy_getinfo")
      else { return nil }
      self.loaderClass = ObjectIdentifier(loaderClass)
      (self.easyHandle, self.rawHandle) = (easyHandle.offset, rawHandle.offset)
      (self.redirectCount, self.session) = (redirectCount.offset, session.offset)
      // Without the rest less is known of waits and of connections.
      let configuration = StoredProperty(
        "_configuration", of: URLSession.self, type: "FoundationNetworking.URLSession._Configuration")
      connectionLimit = configuration.flatMap {
        StoredProperty("httpMaximumConnectionsPerHost", of: $0.type, at: $0.offset, type: "Swift.Int")?.offset
      }
      nextTask = StoredProperty("nextTaskIdentifier", of: URLSession.self, type: "Swift.Int")?.offset
      isTimeoutSet = StoredProperty("isTimeoutIntervalSet", of: URLRequest.self, type: "Swift.Bool")?.offset
      let multiHandle = StoredProperty(
        "multiHandle", of: URLSession.self, type: "FoundationNetworking.URLSession._MultiHandle")
      let table = multiHandle.flatMap { StoredProperty("socketReferences", of: $0.type) }
      sockets =
        if let multiHandle, let table, let type = table.type as? any DescriptorTable.Type {
          (multiHandle.offset, table.offset, type)
        } else {
          nil
        }
      getInfo = unsafeBitCast(symbol, to: GetInfo.self)
      countsFromTurn = Self.version?.hasPrefix("libcurl/8.6.") == true
    #else
      return nil
    #endif
  }

  /// Adds what libcurl knows of a loader's transfer: nothing if the loader is another.
  ///
  /// On Foundation's queue alone, when the loader reports to its client or is stopped: there libcurl is done with the transfer, or
  /// paused between two callbacks.
  package func read(_ loader: URLProtocol, into transfer: inout TransferInfo) {
    guard isNative(loader), let handle = load(easyHandle, of: loader, as: UnsafeRawPointer?.self),
      let curl = handle.load(fromByteOffset: rawHandle, as: UnsafeMutableRawPointer?.self)
    else { return }
    transfer.isNative = true
    transfer.redirectCount = load(redirectCount, of: loader, as: Int.self)
    transfer.statusCode = number(0x20_0002, of: curl)
    transfer.connectionCount = number(0x20_001a, of: curl)
    transfer.protocolVersion = number(0x20_002e, of: curl).flatMap(Self.version)
    transfer.sentBytes = number(0x60_0007, of: curl)
    transfer.receivedBytes = number(0x60_0008, of: curl)
    transfer.total = number(0x60_0032, of: curl) ?? 0
    transfer.nameLookup = number(0x60_0033, of: curl) ?? 0
    transfer.preTransfer = number(0x60_0035, of: curl) ?? 0
    transfer.startTransfer = number(0x60_0036, of: curl) ?? 0
    if transfer.connectionCount != 0 || transfer.preTransfer == 0 {
      // There is neither on a connection that was open.
      transfer.connect = number(0x60_0034, of: curl) ?? 0
      transfer.appConnect = number(0x60_0038, of: curl) ?? 0
    }
    transfer.resend = number(0x60_0037, of: curl) ?? 0
    transfer.queue = number(0x60_0041, of: curl)
    if transfer.sentBytes != 0 { transfer.postTransfer = number(0x60_0043, of: curl) }
    transfer.localPort = number(0x20_002a, of: curl)
    if let address = text(0x10_0020, of: curl) {
      transfer.peer = .init(address: address, port: number(0x20_0028, of: curl) ?? 0)
    }
    if transfer.localPort ?? 0 <= 0 || transfer.wantsHandshake {
      // At its end, newer ones have these times of a transfer too that was never sent (`mstate_enter_completed` in libcurl's multi.c).
      (transfer.preTransfer, transfer.startTransfer, transfer.postTransfer) = (0, 0, nil)
    }
    if !countsFromTurn {
      transfer.countFromTurn()
    } else if transfer.resend > 0 {
      // 8.6 counts the first attempt as a wait.
      transfer.queue = nil
    }
    _fixLifetime(loader)
  }

  /// How many connections to a host the session of a task opens at most, or `nil` if that is unknown. On the same queue.
  ///
  /// The session gave this number to libcurl when it was made. `session.configuration` says what the app has set since.
  func connectionLimit(of task: URLSessionTask) -> Int? {
    guard let connectionLimit, let session = session(of: task) else { return nil }
    return load(connectionLimit, of: session, as: Int.self)
  }

  /// The session of a task, on the same queue. The property is an existential of a class protocol: the object, then the witness table.
  private func session(of task: URLSessionTask?) -> URLSession? {
    task.flatMap { load(session, of: $0, as: AnyObject?.self) } as? URLSession
  }

  /// A time-out, and the setting that the app makes it with.
  typealias Timeout = (setting: String, seconds: Double)

  /// How long Foundation waits for something new of a task (`configureEasyHandle(for:body:)` in HTTPURLProtocol.swift). On the same
  /// queue.
  func timeout(of task: URLSessionTask?) -> Timeout? {
    guard let isTimeoutSet, let request = task?.originalRequest, let session = session(of: task) else {
      return nil
    }
    return withUnsafeBytes(of: request) { $0.load(fromByteOffset: isTimeoutSet, as: Bool.self) }
      ? ("timeoutInterval", request.timeoutInterval)
      : ("timeoutIntervalForRequest", session.configuration.timeoutIntervalForRequest)
  }

  /// Whether a session has made a task. Not while another thread makes one.
  func isUsed(_ session: URLSession) -> Bool {
    guard let nextTask, type(of: session) == URLSession.self else { return true }
    return load(nextTask, of: session, as: Int.self) > 1
  }

  /// `_fixLifetime` is what `withExtendedLifetime` comes down to, whose generic call costs more than the load.
  private func load<Value>(_ offset: Int, of object: AnyObject, as type: Value.Type) -> Value {
    defer { _fixLifetime(object) }
    let start = UnsafeRawPointer(Unmanaged.passUnretained(object).toOpaque())
    return start.load(fromByteOffset: offset, as: type)
  }

  /// The socket of a transfer that has just ended or has been stopped, by its local port. On the same queue.
  ///
  /// libcurl unregisters a transfer's socket in the call in which the transfer ends, and Foundation keeps it in
  /// `URLSession.multiHandle.socketReferences` until its event sources are cancelled, which is later on the same queue
  /// (`tearDown(handle:socket:queue:)` in `MultiHandle.swift`). By HTTP/2 there is none while other streams use the connection.
  package func socket(of task: URLSessionTask?, from port: Int) -> Int32? {
    guard let sockets, let session = session(of: task) else { return nil }
    let multiHandle = load(sockets.multiHandle, of: session, as: AnyObject.self)
    defer { _fixLifetime(multiHandle) }
    let table = UnsafeRawPointer(Unmanaged.passUnretained(multiHandle).toOpaque()) + sockets.table
    return sockets.type.first(in: table) { localPort(of: $0) == port }
  }

  /// Whether a loader is libcurl's: one of an app's own class is not.
  func isNative(_ loader: URLProtocol) -> Bool { ObjectIdentifier(type(of: loader)) == loaderClass }

  /// A `long` or a `curl_off_t`, or `nil` where libcurl is too old to know it (CURLE_UNKNOWN_OPTION).
  private func number<Value: SignedInteger & BitwiseCopyable>(_ info: Int32, of curl: UnsafeMutableRawPointer)
    -> Value?
  {
    var value: Value = 0
    return getInfo(curl, info, &value) == 0 ? value : nil
  }

  /// A C string that libcurl keeps, likewise. `nil` if it is empty.
  private func text(_ info: Int32, of curl: UnsafeMutableRawPointer) -> String? {
    var value: UnsafePointer<CChar>?
    guard getInfo(curl, info, &value) == 0, let value, value.pointee != 0 else { return nil }
    return String(cString: value)
  }

  /// `CURL_HTTP_VERSION_…`
  private static func version(_ number: Int) -> NetworkProtocolVersion? {
    switch number {
    case 1: .http10
    case 2: .http11
    case 3: .http2
    case 30: .http3
    default: nil
    }
  }
}

/// A dictionary by descriptor, whatever its values are: their type is private.
private protocol DescriptorTable: SendableMetatype {
  /// The first descriptor that fits in the table that is stored there.
  static func first(in table: UnsafeRawPointer, where fits: (Int32) -> Bool) -> Int32?
}

extension Dictionary: DescriptorTable where Key == Int32 {
  fileprivate static func first(in table: UnsafeRawPointer, where fits: (Int32) -> Bool) -> Int32? {
    table.load(as: Self.self).keys.first(where: fits)
  }
}

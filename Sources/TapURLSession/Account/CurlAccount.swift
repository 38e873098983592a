@_spi(Reflection) import Swift
import TapCore
package import TapFoundation
import TapLibc

/// Reads libcurl's own account of a transfer from the native loader that drives it.
///
/// Foundation on Linux measures nothing (`URLSessionTaskMetrics` never arrives, swift-corelibs-foundation #4988), but
/// the loader's easy handle knows every time and size (`curl_easy_getinfo(3)`). The way to it: the loader
/// (`_HTTPURLProtocol`) stores `easyHandle`, an `_EasyHandle`, which stores `rawHandle`, libcurl's `CURL *`. The places of
/// these properties come from the metadata that the compiler writes for reflection; their names and types are checked, and
/// where anything differs there is no account.
///
/// All reads of Foundation's memory stand in this file. They are safe because
/// - a loader is read only if its class is exactly the one whose layout was found,
/// - the properties are read on the queue on which Foundation changes them (``read(_:into:)``),
/// - `curl_easy_getinfo` gets the kind of pointer that the number of the information implies (`curl/curl.h`).
package struct CurlAccount: Sendable {
  private typealias GetInfo =
    @convention(c) (UnsafeMutableRawPointer, Int32, UnsafeMutableRawPointer) -> Int32

  /// The account of this process, or `nil` where there is none: see ``init(of:)``.
  package static let shared = CurlAccount(of: TapContext.nativeHTTP)

  private let loaderClass: ObjectIdentifier
  private let easyHandle: Int
  private let rawHandle: Int
  private let redirectCount: Int
  private let session: Int
  private let connectionLimit: Int?
  private let nextTask: Int?
  private let getInfo: GetInfo

  /// Finds the layout of a loader class. `nil` on another toolchain whose properties differ, without libcurl in reach, and
  /// on platforms where a variadic C function cannot be called like one with a fixed number of arguments.
  ///
  /// On x86-64 and on arm64 Linux variadic pointers travel in the same registers as named ones (System V ABI, section
  /// 3.5.7; AAPCS64, section 6.4). On Apple's arm64 they do not.
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
      self.easyHandle = easyHandle.offset
      self.rawHandle = rawHandle.offset
      self.redirectCount = redirectCount.offset
      self.session = session.offset
      // Without it the account is as good, and some waits are unknown.
      let configuration = StoredProperty(
        "_configuration", of: URLSession.self, type: "FoundationNetworking.URLSession._Configuration")
      connectionLimit = configuration.flatMap {
        let name = "httpMaximumConnectionsPerHost"
        return StoredProperty(name, of: $0.type, at: $0.offset, type: "Swift.Int")?.offset
      }
      nextTask = StoredProperty("nextTaskIdentifier", of: URLSession.self, type: "Swift.Int")?.offset
      getInfo = unsafeBitCast(symbol, to: GetInfo.self)
    #else
      return nil
    #endif
  }

  /// Adds what libcurl knows of a loader's transfer: nothing if the loader is another.
  ///
  /// Call it only on the queue on which Foundation drives the loader: when the loader reports to its client, or is
  /// stopped. There libcurl is done with the transfer, or paused between two callbacks.
  package func read(_ loader: URLProtocol, into account: inout TransferAccount) {
    guard isNative(loader), let handle = load(easyHandle, of: loader, as: UnsafeRawPointer?.self),
      let curl = handle.load(fromByteOffset: rawHandle, as: UnsafeMutableRawPointer?.self)
    else { return }
    account.isNative = true
    account.redirectCount = load(redirectCount, of: loader, as: Int.self)
    account.statusCode = number(0x20_0002, of: curl)
    account.connectionCount = number(0x20_001a, of: curl)
    account.protocolVersion = number(0x20_002e, of: curl).flatMap(Self.version)
    account.sentBytes = number(0x60_0007, of: curl)
    account.receivedBytes = number(0x60_0008, of: curl)
    account.total = number(0x60_0032, of: curl) ?? 0
    account.nameLookup = number(0x60_0033, of: curl) ?? 0
    account.preTransfer = number(0x60_0035, of: curl) ?? 0
    account.startTransfer = number(0x60_0036, of: curl) ?? 0
    if account.connectionCount != 0 || account.preTransfer == 0 {
      // There is neither on a connection that was open.
      account.connect = number(0x60_0034, of: curl) ?? 0
      account.appConnect = number(0x60_0038, of: curl) ?? 0
    }
    account.queue = number(0x60_0041, of: curl)
    account.peerPort = number(0x20_0028, of: curl)
    account.localPort = number(0x20_002a, of: curl)
    account.peerAddress = text(0x10_0020, of: curl)
    _fixLifetime(loader)
  }

  /// How many connections to a host the session of a task opens at most, or `nil` if that is unknown. On the same queue.
  ///
  /// The session gave this number to libcurl when it was made. `session.configuration` says what the app has set since.
  func connectionLimit(of task: URLSessionTask) -> Int? {
    // An existential of a class protocol: the object, then the witness table.
    guard let connectionLimit, let session = load(session, of: task, as: AnyObject?.self),
      type(of: session) == URLSession.self
    else { return nil }
    return load(connectionLimit, of: session, as: Int.self)
  }

  /// Whether a session has made a task. Not while another thread makes one.
  func isUsed(_ session: URLSession) -> Bool {
    guard let nextTask, type(of: session) == URLSession.self else { return true }
    return load(nextTask, of: session, as: Int.self) > 1
  }

  /// A stored property of an object. `_fixLifetime` is what `withExtendedLifetime` comes down to, whose generic call costs more
  /// than the load.
  private func load<Value>(_ offset: Int, of object: AnyObject, as type: Value.Type) -> Value {
    defer { _fixLifetime(object) }
    let start = UnsafeRawPointer(Unmanaged.passUnretained(object).toOpaque())
    return start.load(fromByteOffset: offset, as: type)
  }

  /// Whether the account covers a loader: one of an app's own class has none.
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

/// The place of a stored property, found by its name and its type.
private struct StoredProperty {
  let offset: Int
  let type: any Any.Type

  /// - Parameters:
  ///   - owner: A class, or a structure that is stored in one.
  ///   - start: The place of that structure.
  init?(_ name: String, of owner: any Any.Type, at start: Int = 0, type typeName: String) {
    // The option says that the type is a class: `_EachFieldOptions.classType`, which is a `var` and not to be had here.
    let options = owner is AnyClass ? _EachFieldOptions(rawValue: 1) : []
    var found: (offset: Int, type: any Any.Type)?
    _ = _forEachField(of: owner, options: options) { field, offset, type, _ in
      guard String(cString: field) == name else { return true }
      found = (offset, type)
      return false
    }
    guard let found, _typeName(found.type, qualified: true) == typeName else { return nil }
    (offset, type) = (start + found.offset, found.type)
  }

  /// The class of an optional reference.
  var wrappedClass: AnyClass? { (type as? any OptionalType.Type)?.wrapped as? AnyClass }
}

private protocol OptionalType {
  static var wrapped: any Any.Type { get }
}

extension Optional: OptionalType {
  fileprivate static var wrapped: any Any.Type { Wrapped.self }
}

import TapCore
package import TapFoundation
import TapLibc

/// Reads what libcurl knows of a transfer (its *info*, `curl_easy_getinfo(3)`) from the native loader that
/// drives it.
///
/// Foundation on Linux measures nothing (swift-corelibs-foundation #4988). A loader is read only if its class
/// is exactly the one whose layout was found (``FoundationLayout``), and on the queue on which Foundation
/// changes it.
package struct CurlInfo: Sendable {
  typealias GetInfo =
    @convention(c) (UnsafeMutableRawPointer, Int32, UnsafeMutableRawPointer) -> Int32

  /// The reader of this process; `nil` without one (``init(of:layout:getInfo:)``).
  package static let shared = CurlInfo(of: TapContext.nativeHTTP)

  /// `curl_version(3)`, which begins like `libcurl/8.23.0`, or `nil` without libcurl in reach.
  package static let version: String? = {
    typealias Version = @convention(c) () -> UnsafePointer<CChar>
    return function("curl_version").map { String(cString: unsafeBitCast($0, to: Version.self)()) }
  }()

  /// A function of the libcurl that FoundationNetworking uses. A process may have another libcurl, which may
  /// come first (such as libcurl-gnutls) and does not know Foundation's handles. If Foundation is linked
  /// statically, nothing tells which is its own, and the first one is used.
  private static func function(_ name: String) -> UnsafeMutableRawPointer? {
    dlsym(dlopen("libFoundationNetworking.so", RTLD_LAZY | RTLD_NOLOAD), name)
  }

  private let loaderClass: ObjectIdentifier
  let foundation: FoundationLayout
  private let getInfo: GetInfo
  /// Only libcurl 8.6 reports times from the turn.
  private let countsFromTurn: Bool

  /// Finds the layout of a loader class. `nil` where its properties differ, without libcurl in reach, and on
  /// platforms where a variadic C function cannot be called like another: on x86-64 and on arm64 Linux
  /// variadic pointers travel in the same registers as named ones (System V ABI, section 3.5.7; AAPCS64,
  /// section 6.4), on Apple's arm64 they do not.
  ///
  /// - Parameters:
  ///   - layout: In place of the one that is found, for a test.
  ///   - getInfo: In place of libcurl's function, for a test.
  init?(of loaderClass: AnyClass?, layout: FoundationLayout? = nil, getInfo: GetInfo? = nil) {
    #if os(Linux) && (arch(x86_64) || arch(arm64))
      guard let loaderClass, loaderClass is URLProtocol.Type,
        let foundation = layout ?? FoundationLayout(loader: loaderClass),
        let symbol = Self.function("curl_easy_getinfo")
      else { return nil }
      self.loaderClass = ObjectIdentifier(loaderClass)
      self.foundation = foundation
      self.getInfo = getInfo ?? unsafeBitCast(symbol, to: GetInfo.self)
      countsFromTurn = Self.version?.hasPrefix("libcurl/8.6.") == true
    #else
      return nil
    #endif
  }

  /// Whether a loader is libcurl's, and its info is read: not one of an app's own class, and none if libcurl
  /// is not believed.
  func isNative(_ loader: URLProtocol) -> Bool {
    ObjectIdentifier(type(of: loader)) == loaderClass && Witness.libcurl.isBelieved
  }

  /// Adds what libcurl knows of a loader's transfer: nothing if the loader is another.
  ///
  /// On Foundation's queue alone, when the loader reports its end, is stopped or is looked at: there libcurl
  /// is done with the transfer, or paused between two callbacks.
  package func read(_ loader: URLProtocol, into transfer: inout TransferInfo) {
    guard isNative(loader), let curl = foundation.handle(of: loader) else { return }
    transfer.isNative = true
    transfer.redirectCount = foundation.redirectCount(of: loader)
    transfer.statusCode = number(.responseCode, of: curl)
    transfer.connectionCount = number(.connectionCount, of: curl)
    transfer.protocolVersion = number(.httpVersion, of: curl).flatMap(Self.version)
    transfer.sentBytes = number(.sentBytes, of: curl)
    transfer.receivedBytes = number(.receivedBytes, of: curl)
    transfer.total = time(.total, of: curl) ?? 0
    transfer.nameLookup = time(.nameLookup, of: curl) ?? 0
    transfer.preTransfer = time(.preTransfer, of: curl) ?? 0
    transfer.startTransfer = time(.startTransfer, of: curl) ?? 0
    if transfer.connectionCount != 0 {
      // A connection that was open has neither.
      transfer.connect = time(.connect, of: curl) ?? 0
      transfer.appConnect = time(.appConnect, of: curl) ?? 0
      if transfer.relay.isSecure { transfer.tunnel = tunnel(of: curl, isConnected: transfer.appConnect > 0) }
    }
    transfer.resend = time(.redirect, of: curl) ?? 0
    transfer.queue = time(.queue, of: curl)
    if transfer.sentBytes != 0 { transfer.postTransfer = time(.postTransfer, of: curl) }
    transfer.localPort = number(.localPort, of: curl)
    if let address = text(.primaryAddress, of: curl) {
      transfer.peer = .init(address: address, port: number(.primaryPort, of: curl) ?? 0)
    }
    if transfer.localPort ?? 0 <= 0 || transfer.wantsHandshake {
      // At its end, newer versions have these times for a transfer that was never sent too
      // (`mstate_enter_completed` in libcurl's multi.c).
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

  /// What a look at an active transfer asks for beside that.
  func activity(of loader: URLProtocol) -> CurlActivity {
    defer { _fixLifetime(loader) }
    guard isNative(loader), let curl = foundation.handle(of: loader) else { return CurlActivity() }
    return CurlActivity(
      headSize: number(.headSize, of: curl), connectionID: number(.connectionID, of: curl))
  }

  /// The tunnel of a connection that was opened for TLS. Only a libcurl before 8.0 or from 8.7 on tells of
  /// one before the proxy has answered: by what it has sent before there is TLS, or that a proxy is used.
  private func tunnel(of curl: UnsafeMutableRawPointer, isConnected: Bool) -> TransferInfo.Tunnel? {
    let answer: Int = number(.connectCode, of: curl) ?? 0
    if (200..<300).contains(answer) { return .open }
    if answer > 0 { return .requested }
    let sent: Int = isConnected ? 0 : number(.requestSize, of: curl) ?? 0
    return sent > 0 || (number(.usesProxy, of: curl) as Int?) == 1 ? .requested : nil
  }

  /// A time-out, and the setting that the app makes it with.
  typealias Timeout = (setting: String, seconds: Double)

  /// How long Foundation waits for something new of a task (`configureEasyHandle(for:body:)` in
  /// HTTPURLProtocol.swift). On the same queue.
  func timeout(of task: URLSessionTask?) -> Timeout? {
    guard let task, let request = task.originalRequest, let isTimeoutSet = request.isTimeoutSet,
      let session = foundation.session(of: task)
    else { return nil }
    return isTimeoutSet
      ? ("timeoutInterval", request.timeoutInterval)
      : ("timeoutIntervalForRequest", session.configuration.timeoutIntervalForRequest)
  }

  /// The socket of a transfer that has just ended or has been stopped, by its local port. On the same queue.
  ///
  /// libcurl unregisters a transfer's socket in the call in which the transfer ends, and Foundation keeps it
  /// in `URLSession.multiHandle.socketReferences` until its event sources are cancelled, which is later on
  /// the same queue (`tearDown(handle:socket:queue:)` in `MultiHandle.swift`). By HTTP/2 there is none while
  /// other streams use the connection.
  package func socket(of task: URLSessionTask?, from port: Int) -> Int32? {
    task.flatMap { foundation.socket(of: $0) { localPort(of: $0) == port } }
  }

  /// A `long` or a `curl_off_t`, or `nil` where libcurl is too old to know it (CURLE_UNKNOWN_OPTION).
  private func number<Value: SignedInteger & BitwiseCopyable>(
    _ field: Field, of curl: UnsafeMutableRawPointer
  ) -> Value? {
    var value: Value = 0
    return getInfo(curl, field.rawValue, &value) == 0 ? value : nil
  }

  /// Microseconds, in nanoseconds: at most 31 years, so that whatever is in that memory can be added up.
  private func time(_ field: Field, of curl: UnsafeMutableRawPointer) -> Int64? {
    let limit: Int64 = 1_000_000_000_000_000
    return (number(field, of: curl) as Int64?).map { max(-limit, min($0, limit)) * 1_000 }
  }

  /// A C string that libcurl keeps, likewise. `nil` if it is empty.
  private func text(_ field: Field, of curl: UnsafeMutableRawPointer) -> String? {
    var value: UnsafePointer<CChar>?
    guard getInfo(curl, field.rawValue, &value) == 0, let value, value.pointee != 0 else { return nil }
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

extension CurlInfo {
  /// `CURLINFO_…` of `curl/curl.h`: the number implies the kind of pointer that `curl_easy_getinfo` gets.
  enum Field: Int32 {
    case primaryAddress = 0x10_0020
    case responseCode = 0x20_0002
    case headSize = 0x20_000b
    case requestSize = 0x20_000c
    case connectCode = 0x20_0016
    case connectionCount = 0x20_001a
    case primaryPort = 0x20_0028
    case localPort = 0x20_002a
    case httpVersion = 0x20_002e
    case usesProxy = 0x20_0042
    case sentBytes = 0x60_0007
    case receivedBytes = 0x60_0008
    case total = 0x60_0032
    case nameLookup = 0x60_0033
    case connect = 0x60_0034
    case preTransfer = 0x60_0035
    case startTransfer = 0x60_0036
    case redirect = 0x60_0037
    case appConnect = 0x60_0038
    case connectionID = 0x60_0040
    case queue = 0x60_0041
    case postTransfer = 0x60_0043
  }
}

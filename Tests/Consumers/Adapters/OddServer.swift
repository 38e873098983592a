import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Synchronization

/// An HTTP server on a free loopback port whose answers are a test's, byte for byte.
final class OddServer: Sendable {
  enum Step: Sendable {
    case send([UInt8])
    case open(Event)
    case wait(Event)
    case close
    case reset

    static func text(_ text: String) -> Step { .send(Array(text.utf8)) }
    /// A whole response. Lines of the head are without their ends.
    static func response(_ status: String = "200 OK", _ headers: String..., body: String = "") -> Step {
      let lines = ["HTTP/1.1 \(status)"] + headers + ["content-length: \(body.utf8.count)", "", body]
      return .text(lines.joined(separator: "\r\n"))
    }
  }

  struct Request: Sendable {
    var head: HTTPRequestHead
    var body: [UInt8] = []
  }

  typealias Script = @Sendable (Request) -> [Step]
  let port: Int
  private let channel: any Channel
  private let received: Received

  private final class Received: Sendable { let requests = Mutex<[Request]>([]) }

  /// - Parameter tls: The server's side of TLS, or `nil` for plain text.
  static func start(tls: NIOSSLContext? = nil, _ script: @escaping Script) async throws -> OddServer {
    let received = Received()
    let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelOption(.socketOption(.tcp_nodelay), value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let handlers = channel.pipeline.syncOperations
          if let tls { try handlers.addHandler(NIOSSLServerHandler(context: tls)) }
          try handlers.addHandler(ByteToMessageHandler(HTTPRequestDecoder()))
          try handlers.addHandler(
            Handler { request in
              received.requests.withLock { $0.append(request) }
              return script(request)
            })
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    return OddServer(channel, received)
  }

  private init(_ channel: any Channel, _ received: Received) {
    (self.channel, self.received, port) = (channel, received, channel.localAddress?.port ?? 0)
  }

  var requests: [Request] { received.requests.withLock { $0 } }
  func url(_ path: String = "/", scheme: String = "http") -> String { "\(scheme)://127.0.0.1:\(port)\(path)" }
  func stop() async throws { try await channel.close() }

  private final class Handler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    private let script: Script
    private var request: Request?

    init(_ script: @escaping Script) { self.script = script }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      switch unwrapInboundIn(data) {
      case .head(let head): request = Request(head: head)
      case .body(let buffer): request?.body += Array(buffer.readableBytesView)
      case .end: if let request { take(script(request)[...], on: context.channel) }
      }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func take(_ steps: ArraySlice<Step>, on channel: any Channel) {
      var steps = steps
      while let step = steps.popFirst() {
        switch step {
        case .send(let bytes): channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
        case .open(let event): event.open()
        case .wait(let event):
          let rest = NIOLoopBound((self, steps), eventLoop: channel.eventLoop)
          return event.whenOpen { channel.eventLoop.execute { rest.value.0.take(rest.value.1, on: channel) } }
        case .close: channel.close(promise: nil)
        case .reset:
          let abort = linger(l_onoff: 1, l_linger: 0)
          (channel as? any SocketOptionProvider)?.setSoLinger(abort)
            .whenComplete { _ in channel.close(promise: nil) }
        }
      }
    }
  }
}

/// Something that happens once, and that a test or a server waits for.
final class Event: Sendable {
  private let state = Mutex<(isOpen: Bool, waiters: [@Sendable () -> Void])>((false, []))

  func open() {
    let waiters = state.withLock { state in
      defer { state = (true, []) }
      return state.waiters
    }
    for waiter in waiters { waiter() }
  }

  func whenOpen(_ callback: @escaping @Sendable () -> Void) {
    let isOpen = state.withLock { state in
      if !state.isOpen { state.waiters.append(callback) }
      return state.isOpen
    }
    if isOpen { callback() }
  }

  func wait() async { await withCheckedContinuation { continuation in whenOpen { continuation.resume() } } }
}

/// A bound port that does not listen: it refuses connections, and no other process can take it.
final class RefusingPort: Sendable {
  let port: Int
  private let descriptor: Int32

  init() throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let descriptor = descriptor
    let result = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        bind(descriptor, pointer, length) == 0 && getsockname(descriptor, pointer, &length) == 0
      }
    }
    port = Int(UInt16(bigEndian: address.sin_port))
    guard result else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
  }

  deinit { close(descriptor) }
}

/// A certificate that no client trusts, made by openssl.
func selfSignedContext() throws -> NIOSSLContext {
  let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  let (key, certificate) = (
    folder.appendingPathComponent("key").path, folder.appendingPathComponent("crt").path
  )
  let openssl = Process()
  openssl.executableURL = URL(fileURLWithPath: "/usr/bin/env")
  openssl.arguments =
    [
      "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
      "2",
    ] + ["-subj", "/CN=localhost", "-keyout", key, "-out", certificate]
  (openssl.standardOutput, openssl.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
  try openssl.run()
  openssl.waitUntilExit()
  return try NIOSSLContext(
    configuration: .makeServerConfiguration(
      certificateChain: NIOSSLCertificate.fromPEMFile(certificate).map { .certificate($0) },
      privateKey: .privateKey(NIOSSLPrivateKey(file: key, format: .pem))))
}

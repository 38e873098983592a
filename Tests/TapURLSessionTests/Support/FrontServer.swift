import TestSupport

/// An nginx before an ``Origin``: what the origin cannot speak itself.
///
/// Only exit tests trust its certificate: see ``TrustedCertificate``.
final class FrontServer: Sendable {
  enum Way: String, CaseIterable, Codable, Sendable {
    case tls, tlsThatCloses, http2, ipv6

    fileprivate var scheme: String { self == .ipv6 ? "http" : "https" }
    fileprivate var address: String { self == .ipv6 ? "[::1]" : "127.0.0.1" }
    /// Foundation refuses an address of IPv6 in a URL (NSURLErrorBadURL): the name has it too.
    fileprivate var host: String { self == .ipv6 ? "localhost" : "127.0.0.1" }
  }

  private let ports: [Way: SharedPort]
  private let process: ChildProcess
  private let folder: TemporaryFolder

  static func start(before origin: Origin) async throws -> FrontServer {
    let server = try FrontServer(before: origin)
    try await Poll.until("nginx") { server.folder.mode(of: "nginx.pid") != nil }
    return server
  }

  private init(before origin: Origin) throws {
    folder = try TemporaryFolder()
    ports = try Dictionary(
      uniqueKeysWithValues: Way.allCases.map { ($0, try SharedPort(isIPv6: $0 == .ipv6)) })
    let text = Self.configuration(folder.path, ports, origin: origin.port)
    let path = try folder.write(text, to: "nginx.conf")
    process = try ChildProcess(Tool("nginx").url, ["-c", path, "-e", "stderr"])
  }

  func url(_ way: Way, _ path: String) -> URL {
    URL(string: "\(way.scheme)://\(way.host):\(ports[way]?.number ?? 0)\(path)") ?? URL(fileURLWithPath: "/")
  }

  func stop() async throws {
    process.send(SIGKILL)
    try await process.waitForExit()
    folder.remove()
  }

  private static func configuration(_ folder: String, _ ports: [Way: SharedPort], origin: Int) -> String {
    let servers = Way.allCases.map { way in
      let listen =
        "\(way.address):\(ports[way]?.number ?? 0) reuseport" + (way.scheme == "https" ? " ssl" : "")
      return """
        server {
          listen \(listen)\(way == .http2 ? " http2" : "");
          keepalive_timeout \(way == .tlsThatCloses ? 0 : 600);
          location / { proxy_pass http://127.0.0.1:\(origin); }
        }
        """
    }
    return """
      daemon off;
      master_process off;
      pid \(folder)/nginx.pid;
      events { worker_connections 4096; }
      http {
        access_log off;
        client_body_temp_path \(folder)/body;
        proxy_temp_path \(folder)/proxy;
        fastcgi_temp_path \(folder)/fastcgi;
        uwsgi_temp_path \(folder)/uwsgi;
        scgi_temp_path \(folder)/scgi;
        ssl_certificate \(TrustedCertificate.certificate);
        ssl_certificate_key \(TrustedCertificate.key);
        proxy_buffering off;
        proxy_read_timeout 600;
        \(servers.joined(separator: "\n"))
      }
      """
  }
}

/// A loopback port that the system chose, at which no other program can listen but a child of this user's,
/// which shares it (`SO_REUSEPORT`, socket(7)). This process keeps it without listening.
private final class SharedPort: Sendable {
  let number: Int
  private let descriptor: Int32

  init(isIPv6: Bool) throws {
    let family = isIPv6 ? AF_INET6 : AF_INET
    let descriptor = socket(family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var isShared: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &isShared, socklen_t(MemoryLayout<Int32>.size))
    // Family and port are where those of IPv4 are (RFC 3493, section 3.3).
    var address = sockaddr_in6()
    address.sin6_family = sa_family_t(family)
    if isIPv6 { address.sin6_addr = in6addr_loopback }
    var length = socklen_t(isIPv6 ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutableBytes(of: &address) { bytes in
      if !isIPv6 { bytes.storeBytes(of: inet_addr("127.0.0.1"), toByteOffset: 4, as: in_addr_t.self) }
      let pointer = bytes.assumingMemoryBound(to: sockaddr.self).baseAddress
      return pointer.map { bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0 }
    }
    (number, self.descriptor) = (Int(UInt16(bigEndian: address.sin6_port)), descriptor)
    guard isBound == true else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
  }

  deinit { close(descriptor) }
}

extension Trait where Self == ConditionTrait {
  static var usesFrontServer: ConditionTrait {
    .enabled(
      if: TrustedCertificate.isPossible && Tool.isUsable("nginx") && Tool.isUsable("openssl"),
      "needs nginx, openssl and root")
  }
}

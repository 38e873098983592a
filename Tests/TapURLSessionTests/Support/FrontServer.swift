import TestSupport

/// An nginx before an ``Origin``: what the origin cannot speak itself.
///
/// Only exit tests trust its certificate: see ``TrustedCertificate``.
final class FrontServer: Sendable {
  enum Way: String, CaseIterable, Codable, Sendable {
    case plain, tls, tlsThatCloses, http2, ipv6

    fileprivate var scheme: String { self == .plain || self == .ipv6 ? "http" : "https" }
    fileprivate var address: String { self == .ipv6 ? "[::1]" : "127.0.0.1" }
    /// Foundation refuses an address of IPv6 in a URL (NSURLErrorBadURL): the name has it too.
    fileprivate var host: String { self == .ipv6 ? "localhost" : "127.0.0.1" }
  }

  private let ports: [Way: Int]
  private let process: ChildProcess
  private let folder: TemporaryFolder

  static func start(before origin: Origin) async throws -> FrontServer {
    // A port that is free now may be taken when nginx binds it.
    for _ in 0..<20 {
      let server = try FrontServer(before: origin)
      let isReady = try await Poll.until("nginx") { () -> Bool? in
        if server.process.output.contains("[emerg]") { return false }
        return server.folder.mode(of: "nginx.pid") == nil ? nil : true
      }
      if isReady { return server }
    }
    throw POSIXError(.EADDRINUSE)
  }

  private init(before origin: Origin) throws {
    folder = try TemporaryFolder()
    ports = try Self.freePorts()
    let text = Self.configuration(folder.path, ports, origin: origin.port)
    let path = try folder.write(text, to: "nginx.conf")
    process = try ChildProcess(Tool("nginx").url, ["-c", path, "-e", "stderr"])
  }

  func url(_ way: Way, _ path: String) -> URL {
    URL(string: "\(way.scheme)://\(way.host):\(ports[way] ?? 0)\(path)") ?? URL(fileURLWithPath: "/")
  }

  func stop() async throws {
    process.send(SIGKILL)
    try await process.waitForExit()
    folder.remove()
  }

  /// Ports that nobody has when this returns.
  private static func freePorts() throws -> [Way: Int] {
    let reserved = try Way.allCases.map { ($0, try ClosedPort()) }
    return Dictionary(uniqueKeysWithValues: reserved.map { ($0.0, $0.1.port) })
  }

  private static func configuration(_ folder: String, _ ports: [Way: Int], origin: Int) -> String {
    let servers = Way.allCases.map { way in
      let listen = "\(way.address):\(ports[way] ?? 0)" + (way.scheme == "https" ? " ssl" : "")
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

extension Trait where Self == ConditionTrait {
  static var usesFrontServer: ConditionTrait {
    .enabled(
      if: TrustedCertificate.isPossible && Tool.isUsable("nginx") && Tool.isUsable("openssl"),
      "needs nginx, openssl and root")
  }
}

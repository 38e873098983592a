import Foundation
import TestSupport

#if canImport(Glibc)
  import Glibc
#endif

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

  /// Whether tests with it run.
  static var isUsable: Bool {
    TrustedCertificate.isPossible && Tool.isUsable("nginx") && Tool.isUsable("openssl")
  }

  private let ports: [Way: Int]
  private let process: ChildProcess
  private let folder: URL

  static func start(before origin: Origin) async throws -> FrontServer {
    // A port that is free now may be taken when nginx binds it.
    for _ in 0..<20 {
      if let server = try await attempt(before: origin) { return server }
    }
    throw POSIXError(.EADDRINUSE)
  }

  private init(ports: [Way: Int], process: ChildProcess, folder: URL) {
    self.ports = ports
    self.process = process
    self.folder = folder
  }

  func url(_ way: Way, _ path: String) -> URL {
    URL(string: "\(way.scheme)://\(way.host):\(ports[way] ?? 0)\(path)") ?? URL(fileURLWithPath: "/")
  }

  func stop() async throws {
    process.send(SIGKILL)
    try await process.waitForExit()
    try FileManager.default.removeItem(at: folder)
  }

  private static func attempt(before origin: Origin) async throws -> FrontServer? {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("front-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let ports = try freePorts()
    let text = configuration(folder.path, ports, origin: origin.port)
    try Data(text.utf8).write(to: folder.appendingPathComponent("nginx.conf"))
    return try await start(ports, folder)
  }

  /// Ports that nobody has when this returns.
  private static func freePorts() throws -> [Way: Int] {
    let reserved = try Way.allCases.map { ($0, try ClosedPort()) }
    return Dictionary(uniqueKeysWithValues: reserved.map { ($0.0, $0.1.port) })
  }

  private static func start(_ ports: [Way: Int], _ folder: URL) async throws -> FrontServer? {
    let process = try ChildProcess(
      try Tool("nginx").url, ["-c", folder.appendingPathComponent("nginx.conf").path, "-e", "stderr"])
    let isReady = try await Poll.until("nginx") { () -> Bool? in
      if process.output.contains("[emerg]") { return false }
      return FileManager.default.fileExists(atPath: folder.path + "/nginx.pid") ? true : nil
    }
    guard isReady else {
      try await process.waitForExit()
      try FileManager.default.removeItem(at: folder)
      return nil
    }
    return FrontServer(ports: ports, process: process, folder: folder)
  }

  private static func configuration(
    _ folder: String, _ ports: [Way: Int], origin: Int
  ) -> String {
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

import Foundation
import TestSupport

#if canImport(Glibc)
  import Glibc
#endif

/// An nginx before an ``Origin``: what the origin cannot speak itself.
///
/// Foundation trusts its certificate only in a process that starts with ``trustAll()``: in an exit test.
final class FrontServer: Sendable {
  enum Way: String, CaseIterable, Codable, Sendable {
    case plain, tls, tlsThatCloses, http2, ipv6

    fileprivate var scheme: String { self == .plain || self == .ipv6 ? "http" : "https" }
    fileprivate var host: String { self == .ipv6 ? "[::1]" : "127.0.0.1" }
  }

  private let ports: [Way: Int]
  private let process: ChildProcess
  private let folder: URL

  /// Makes this process take any certificate (`configure(for:)` in Foundation's `EasyHandle.swift`).
  static func trustAll() { setenv("URLSessionCertificateAuthorityInfoFile", "INSECURE_SSL_NO_VERIFY", 1) }

  static func start(before origin: Origin) async throws -> FrontServer {
    trustAll()
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
    let (key, certificate) = (folder.path + "/key.pem", folder.path + "/certificate.pem")
    _ = try await Tool("openssl").run([
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
      "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate,
    ])
    let ports = try freePorts()
    let text = configuration(folder.path, ports, key: key, certificate: certificate, origin: origin.port)
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
    _ folder: String, _ ports: [Way: Int], key: String, certificate: String, origin: Int
  ) -> String {
    let servers = Way.allCases.map { way in
      let listen = "\(way.host):\(ports[way] ?? 0)" + (way.scheme == "https" ? " ssl" : "")
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
        ssl_certificate \(certificate);
        ssl_certificate_key \(key);
        proxy_buffering off;
        proxy_read_timeout 600;
        \(servers.joined(separator: "\n"))
      }
      """
  }
}

import Foundation
import TestSupport
import Testing

/// A server of OpenSSL's with a self-signed certificate.
struct TLSServer {
  let port: Int
  private let process: ChildProcess
  private let folder: TemporaryFolder

  static func start() async throws -> TLSServer {
    let folder = try TemporaryFolder()
    let (key, certificate) = (folder("key.pem"), folder("certificate.pem"))
    let openssl = try Tool("openssl")
    let made = try await openssl.run([
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
      "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate,
    ])
    #expect(made.status == 0, "\(made.output)")
    let process = try ChildProcess(
      openssl.url, ["s_server", "-accept", "127.0.0.1:0", "-key", key, "-cert", certificate, "-www"])
    let prefix = "ACCEPT 127.0.0.1:"
    try await process.waitForOutput(prefix)
    let port = try await Poll.until("the port") {
      // The line may come in pieces.
      process.output.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        .first { $0.hasPrefix(prefix) }.flatMap { Int($0.dropFirst(prefix.count)) }
    }
    return TLSServer(port: port, process: process, folder: folder)
  }

  func stop() async throws {
    // A process that is started on a thread of Dispatch's may inherit its blocked signals.
    process.send(SIGKILL)
    try await process.waitForExit()
  }
}

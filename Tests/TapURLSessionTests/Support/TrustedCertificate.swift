import TestSupport

/// A certificate that the process of an exit test trusts, and no other process.
///
/// libcurl reads the certificates of a file of the system's. In a mount namespace of the child's own
/// another file stands there. That takes the right to mount, and has to happen while the process has one
/// thread: before `main`, in `trusted-certificate.c`.
enum TrustedCertificate {
  /// Whether this process may mount.
  static var isPossible: Bool { geteuid() == 0 }

  static var certificate: String { folder(of: ownerOfFolder) + "/certificate.pem" }
  static var key: String { folder(of: ownerOfFolder) + "/key.pem" }

  /// Makes the certificate, in the process that starts exit tests. They trust it from then on.
  static func prepare() async throws { try await made.value }

  private static let made = Task {
    let folder = TrustedCertificate.folder(of: getpid())
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let result = try await Tool("openssl").run([
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
      "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder + "/key.pem",
      "-out", folder + "/certificate.pem",
    ])
    guard result.status == 0 else { throw POSIXError(.EIO) }
    atexit {
      for name in ["/key.pem", "/certificate.pem", ""] {
        remove(TrustedCertificate.folder(of: getpid()) + name)
      }
    }
  }

  /// This process, or the one that has started it.
  static var ownerOfFolder: pid_t { access(folder(of: getppid()), F_OK) == 0 ? getppid() : getpid() }

  private static func folder(of process: pid_t) -> String { "/tmp/session-tap-trust-\(process)" }
}

extension URLSession {
  /// Keeps a session that speaks TLS until the process ends. When it is freed, libcurl 8.9 and later say
  /// goodbye on its connections, and Foundation ends the process (swift-corelibs-foundation #5203).
  func keep() { _ = Unmanaged.passRetained(self) }
}

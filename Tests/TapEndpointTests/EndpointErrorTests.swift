import TestSupport

@testable import TapEndpoint

@Suite struct EndpointErrorTests {
  private static let codes: [EndpointError.Code] = [
    .addressInUse, .addressNotAvailable, .permissionDenied, .invalidConfiguration, .alreadyRunning,
    .tooManyOpenFiles, .noCredentials, .accessNotRestricted, .system,
  ]

  /// Another process, or a change of a file, ends the others.
  @Test func `knows the errors that no other try mends`() {
    let lasting = Self.codes.filter { EndpointError($0, "").isLasting }
    #expect(lasting == [.invalidConfiguration, .alreadyRunning, .accessNotRestricted])
  }

  private static let inUse = "stop the process that listens there, or choose another address"
  private static let denied = "choose a port above 1023, or a directory that can be written"
  private static let full = "raise the limit, see ulimit -n"

  @Test(arguments: [
    (EADDRINUSE, EndpointError.Code.addressInUse, "address in use", inUse),
    (EADDRNOTAVAIL, .addressNotAvailable, "address not available", "use an address of this machine"),
    (ENOENT, .addressNotAvailable, "no such directory", "create it first"),
    (ENOTDIR, .addressNotAvailable, "no such directory", "create it first"),
    (EACCES, .permissionDenied, "permission denied", denied),
    (EPERM, .permissionDenied, "permission denied", denied),
    (EROFS, .permissionDenied, "permission denied", denied),
    (EMFILE, .tooManyOpenFiles, "too many open files", full),
    (ENFILE, .tooManyOpenFiles, "too many open files", full),
    (EINVAL, .system, "cannot listen", "Invalid argument"),
  ])
  func `names why it cannot listen, and what to do`(
    number: Int32, code: EndpointError.Code, reason: String, remedy: String
  ) {
    let error = ListeningSocket.failure(number, .loopback(port: 9464))
    #expect(error.code == code)
    #expect(error.description == "\(reason): 127.0.0.1:9464 (\(remedy))")
  }

  @Test func `listens at OpenTelemetry's port by default, and takes each that there is`() throws {
    #expect(Endpoint.Configuration().address == .tcp(host: "127.0.0.1", port: 9464))
    for port in [0, 1, 65_535] { _ = try SocketAddress(.loopback(port: port)) }
  }
}

import TestSupport

@testable import TapEndpoint

@Suite struct EndpointErrorTests {
  /// Another process, or a change of a file, ends the others.
  @Test func `knows the errors that no other try mends`() {
    let codes: [EndpointError.Code] = [
      .addressInUse, .addressNotAvailable, .permissionDenied, .invalidConfiguration, .alreadyRunning,
      .tooManyOpenFiles, .noCredentials, .accessNotRestricted, .system,
    ]
    let lasting = codes.filter { EndpointError($0, "").isLasting }
    #expect(lasting == [.invalidConfiguration, .alreadyRunning, .accessNotRestricted])
  }

  @Test func `names why it cannot listen, and what to do`() {
    let (denied, full) = ("choose a port above 1023", "raise the limit, see ulimit -n")
    let reasons: [(Int32, EndpointError.Code, String, String)] = [
      (
        EADDRINUSE, .addressInUse, "address in use",
        "stop the process that listens there, or choose another address"
      ),
      (EADDRNOTAVAIL, .addressNotAvailable, "address not available", "use an address of this machine"),
      (EACCES, .permissionDenied, "permission denied", denied),
      (EPERM, .permissionDenied, "permission denied", denied),
      (EMFILE, .tooManyOpenFiles, "too many open files", full),
      (ENFILE, .tooManyOpenFiles, "too many open files", full),
      (EINVAL, .system, "cannot listen", "Invalid argument"),
    ]
    let errors = reasons.map { EndpointError($0.0, listeningAt: .loopback(port: 9464)) }
    #expect(errors.map(\.code) == reasons.map(\.1))
    #expect(errors.map(\.description) == reasons.map { "\($0.2): 127.0.0.1:9464 (\($0.3))" })
  }
}

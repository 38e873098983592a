import Testing

@testable import TapEndpoint

@Suite struct SocketActivationTests {
  private func activation(_ variables: [String: String]) -> SocketActivation {
    SocketActivation(process: 7) { variables[$0] }
  }

  @Test func `finds its sockets`() {
    let activation = activation(["LISTEN_PID": "7", "LISTEN_FDS": "3", "LISTEN_FDNAMES": "web:metrics"])
    #expect(activation.names == ["web", "metrics", ""])
    #expect(activation.descriptor(named: nil) == 3)
    #expect(activation.descriptor(named: "metrics") == 4)
    #expect(activation.descriptor(named: "other") == nil)
  }

  @Test(arguments: [
    [:], ["LISTEN_FDS": "1"], ["LISTEN_PID": "8", "LISTEN_FDS": "1"], ["LISTEN_PID": "7"],
    ["LISTEN_PID": "7", "LISTEN_FDS": "0"],
    ["LISTEN_PID": "7", "LISTEN_FDS": "-1"], ["LISTEN_PID": "7", "LISTEN_FDS": "99999999999999999999"],
    ["LISTEN_PID": "x", "LISTEN_FDS": "1"],
  ])
  func `takes none that is not for it`(_ variables: [String: String]) {
    #expect(activation(variables).descriptor(named: nil) == nil)
  }

  @Test func `says what is missing`() {
    let error = #expect(throws: EndpointError.self) {
      try Endpoint(configuration: .init(address: .activated(name: "metrics")), routes: []).start()
    }
    #expect(error?.code == .addressNotAvailable)
    #expect(
      error?.description == "no activated socket: metrics (start this process from a systemd socket unit)")
  }
}

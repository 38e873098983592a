import Testing

@testable import TapEndpoint

@Suite struct SocketActivationTests {
  private func descriptor(named name: String?, _ variables: [String: String]) -> Int32? {
    SocketActivation.descriptor(named: name, process: 7) { variables[$0] }
  }

  @Test(
    arguments: [(nil, 3), ("web", 3), ("metrics", 4), ("other", nil), ("behind", nil)] as [(String?, Int32?)])
  func `finds its sockets`(name: String?, expected: Int32?) {
    let variables = ["LISTEN_PID": "7", "LISTEN_FDS": "3", "LISTEN_FDNAMES": "web:metrics:last:behind"]
    #expect(descriptor(named: name, variables) == expected)
  }

  @Test(arguments: [
    [:], ["LISTEN_FDS": "1"], ["LISTEN_PID": "8", "LISTEN_FDS": "1"], ["LISTEN_PID": "7"],
    ["LISTEN_PID": "7", "LISTEN_FDS": "0"],
    ["LISTEN_PID": "7", "LISTEN_FDS": "-1"], ["LISTEN_PID": "7", "LISTEN_FDS": "99999999999999999999"],
    ["LISTEN_PID": "x", "LISTEN_FDS": "1"],
  ])
  func `takes none that is not for it`(_ variables: [String: String]) {
    #expect(descriptor(named: nil, variables) == nil)
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

import TestSupport

@testable import TapEndpoint

@Suite struct HostTextTests {
  private static let label = String(repeating: "a", count: 63)
  /// The longest name: 253 bytes (RFC 1035, section 3.1).
  private static let name = [label, label, label, String(label.dropLast(2))].joined(separator: ".")

  @Test func `takes addresses and names as they are, without brackets`() {
    let hosts = [
      "127.0.0.1", "::1", "fe80::1%eth0", "a", "A-b.c_d", "1a", "1.a", "a1.", Self.label, Self.name,
      Self.name + ".",
    ]
    #expect(hosts.map(HostText.parse) == hosts)
    #expect(["[::1]", "[fe80::1%eth0]"].map(HostText.parse) == ["::1", "fe80::1%eth0"])
  }

  @Test func `takes nothing else`() {
    let texts = [
      "", ".", "..", "a..b", ".a", "-a", "a-", "b.-a", "b.a-", "a.1", "1.2.3", "256.0.0.1", "127.0.0.1\u{0}",
      "::1\u{0}", "::1%", "[::1%]", "[::1", "::1]", "[]", "[a]", "[127.0.0.1]", "%eth0", "127.0.0.1%eth0",
      "a b", "a~b", "a:80", "ä", Self.label + "a", Self.name + "a",
    ]
    #expect(texts.filter { HostText.parse($0) != nil } == [])
  }

  /// A page of any site can have its own name resolve to this machine, and read what is served there (DNS
  /// rebinding). Browsers always name a host.
  @Test func `allows this machine's hosts, addresses, and those of the configuration`() {
    let hosts = AllowedHosts(["Metrics.Example.com", "a.co."])
    func isAllowed(_ host: String) -> Bool {
      hosts.refusal(EndpointRequest(path: "/", headers: ["Host": host])) == nil
    }
    let long = String(repeating: "a.", count: 122) + "localhost."
    let allowed = [
      "localhost", "LocalHost:9464", "localhost.:1", "app.localhost", "127.0.0.1:9464", "[::1]:9464",
      "10.1.2.3", long, "metrics.example.com", "METRICS.example.com.:443", "a.co",
    ]
    let foreign = [
      "evil.example", "evil.example:9464", "localhost.evil.example", "notlocalhost", "127.0.0.1.evil.example",
      "b" + long, "example.com",
    ]
    #expect((allowed + foreign).filter(isAllowed) == allowed)
    #expect(hosts.refusal(EndpointRequest(path: "/")) == nil)
  }
}

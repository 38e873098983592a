import TapEndpoint
import Testing

@Suite struct HostTextTests {
  private static let label = String(repeating: "a", count: 63)
  /// The longest name: 253 bytes (RFC 1035, section 3.1).
  private static let name = [label, label, label, String(label.dropLast(2))].joined(separator: ".")

  @Test(arguments: [
    "127.0.0.1", "::1", "fe80::1%eth0", "a", "A-b.c_d", "1a", "1.a", "a1.", label, name, name + ".",
  ])
  func `takes addresses and names as they are`(_ text: String) {
    #expect(HostText.parse(text) == text)
  }

  @Test(arguments: ["::1", "fe80::1%eth0"])
  func `takes the brackets off an IPv6 address`(_ address: String) {
    #expect(HostText.parse("[" + address + "]") == address)
  }

  @Test(arguments: [
    "", ".", "..", "a..b", ".a", "-a", "a-", "b.-a", "b.a-", "a.1", "1.2.3", "256.0.0.1", "127.0.0.1\u{0}",
    "::1\u{0}", "::1%", "[::1%]", "[::1", "::1]", "[]", "[a]", "[127.0.0.1]", "%eth0", "127.0.0.1%eth0",
    "a b", "a~b", "a:80", "ä", label + "a", name + "a",
  ])
  func `takes nothing else`(_ text: String) { #expect(HostText.parse(text) == nil) }
}

/// The hosts that a request may name at an address of the loopback.
///
/// A page of any site can have the site's name resolve to 127.0.0.1 (DNS rebinding). The browser of its
/// reader then takes what answers there for the site's own, and lets the page read it. Its requests name the
/// site. An address in place of a name is no site's.
struct AllowedHosts: Sendable {
  private let names: Set<String>

  init(_ access: Endpoint.Configuration.Access) { names = Set(access.allowedHosts.map(Self.normalized)) }

  /// The answer to a request for another host; `nil` if it names an allowed one, or none, as browsers never
  /// do.
  func refusal(_ request: EndpointRequest) -> EndpointResponse? {
    guard let authority = request.authority, authority.utf8.first != UInt8(ascii: "[") else { return nil }
    let host = authority.utf8.prefix { $0 != UInt8(ascii: ":") }
    // No name is longer (RFC 1035, section 3.1), but for the dot that may end it.
    let name = host.count <= 254 ? Self.normalized(String(Substring(host))) : ""
    if HostText.isIPv4(name) { return nil }
    // RFC 6761, section 6.3: "localhost." and names within it are those of this machine.
    if name == "localhost" || name.hasSuffix(".localhost") || names.contains(name) { return nil }
    // RFC 9110, section 15.5.20.
    return .refusal(
      421, "ask for localhost or an address of this machine, or add the host to access.allowedHosts")
  }

  /// In lower case, without the dot that may end a name.
  private static func normalized(_ name: String) -> String {
    let name = name.lowercased()
    return name.hasSuffix(".") ? String(name.dropLast()) : name
  }
}

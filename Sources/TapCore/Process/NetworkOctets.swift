/// What `/proc/self/net/netstat` tells of the network that the process sees: bytes of IP packets, loopback included.
struct NetworkOctets: Sendable, Hashable {
  let received: UInt64
  let sent: UInt64

  /// Two lines begin with `IpExt:`, the first with names and the second with values.
  init?(_ text: String) {
    let lines = text.split(separator: "\n").filter { $0.hasPrefix("IpExt:") }
      .map { $0.split(separator: " ") }
    guard lines.count == 2 else { return nil }
    func value(_ name: String) -> UInt64? {
      guard let index = lines[0].firstIndex(where: { $0 == name }), index < lines[1].count else { return nil }
      return UInt64(lines[1][index])
    }
    guard let received = value("InOctets"), let sent = value("OutOctets") else { return nil }
    self.received = received
    self.sent = sent
  }
}

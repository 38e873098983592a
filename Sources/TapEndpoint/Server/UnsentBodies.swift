/// The bodies that connections have yet to send. One that several connections share counts once.
struct UnsentBodies {
  /// The address of a body's bytes, which are not moved as long as a connection has them.
  typealias ID = UnsafeRawPointer

  private var bodies: [ID: (bytes: Int, users: Int)] = [:]
  private var bytes = 0

  /// - Returns: `nil` if there would be more bytes than the limit. One body may always be sent.
  mutating func add(_ body: [UInt8], limit: Int) -> ID? {
    guard let id = body.withUnsafeBytes({ $0.baseAddress }) else { return nil }
    guard bodies[id] != nil || bodies.isEmpty || body.count <= limit - bytes else { return nil }
    if bodies[id] == nil { bytes += body.count }
    bodies[id, default: (body.count, 0)].users += 1
    return id
  }

  mutating func remove(_ id: ID) {
    guard let body = bodies[id] else { return }
    if body.users > 1 {
      bodies[id]?.users -= 1
    } else {
      bodies[id] = nil
      bytes -= body.bytes
    }
  }
}

/// Reads whole files without Foundation.
package enum SmallFile {
  /// The bytes, or `nil` if the file cannot be read or has more than `limit`. Does not block on a pipe or a device.
  package static func read(_ path: String, limit: Int) -> [UInt8]? {
    guard let descriptor = try? System.openForReading(path) else { return nil }
    defer { System.close(descriptor) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16_384)
    while true {
      guard let count = chunk.withUnsafeMutableBytes({ try? System.read(descriptor, into: $0) }),
        bytes.count + count <= limit
      else { return nil }
      if count == 0 { return bytes }
      bytes += chunk[..<count]
    }
  }
}

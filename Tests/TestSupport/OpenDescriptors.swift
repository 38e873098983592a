/// The descriptors of this process.
package enum OpenDescriptors {
  /// Those that are open on such a file, which is `socket:[…]` or `anon_inode:[…]` for what has no path.
  package static func on(_ isWanted: (String) -> Bool) throws -> [Int32] {
    let folder = "/proc/self/fd"
    return try FileManager.default.contentsOfDirectory(atPath: folder).compactMap(Int32.init).filter {
      // The one of the folder itself is closed by now.
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")).map(isWanted) ?? false
    }
  }

  package static func on(_ path: String) throws -> [Int32] { try on { $0 == path } }

  package static var count: Int { get throws { try on { _ in true }.count } }
}

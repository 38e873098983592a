import Foundation

/// The descriptors of this process, by what they are open on.
enum OpenDescriptors {
  static func of(_ path: String) -> [Int32] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    return names.compactMap(Int32.init).filter { descriptor in
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")) == path
    }
  }
}

/// What `/proc/self/limits` tells: the soft limits.
struct ProcessLimits: Sendable, Hashable {
  /// `nil` if it is not told.
  let openFiles: Double?
  let addressSpace: Double?

  init(_ text: String) {
    func soft(_ name: String) -> Double? {
      guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix(name) }),
        let value = line.dropFirst(name.count).split(separator: " ").first
      else { return nil }
      // As the other clients do, "unlimited" is the greatest number that the limit could have.
      return value == "unlimited" ? Double(UInt64.max) : Double(value)
    }
    openFiles = soft("Max open files")
    addressSpace = soft("Max address space")
  }
}

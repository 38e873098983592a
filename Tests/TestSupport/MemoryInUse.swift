import TestStart

/// What malloc has given out in this process. Only a process of its own tells what a test takes.
package enum MemoryInUse {
  package static var bytes: Int { Int(memory_in_use()) }

  /// By how many bytes it has grown after something has been done so often, without the first tenth.
  package static func growth(of count: Int, _ body: () throws -> Void) throws -> Int {
    for _ in 0..<count / 10 { try body() }
    let before = bytes
    try #require(before > 0, "the C library does not tell")
    for _ in 0..<count { try body() }
    return bytes - before
  }
}

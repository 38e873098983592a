/// A folder for the files of one test, removed with its content when the test is done with it. Its path is
/// short enough for a Unix socket in it.
package final class TemporaryFolder: Sendable {
  package let path: String

  /// - Parameter isInMemory: On a tmpfs, and not where files usually are.
  package init(isInMemory: Bool = false) throws {
    var template = Array("\(isInMemory ? "/dev/shm" : "/tmp")/tap-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit { remove() }

  /// Removes the folder before its object goes. `false` if a process has put a file there meanwhile.
  @discardableResult
  package func remove() -> Bool {
    try? FileManager.default.removeItem(atPath: path)
    return !FileManager.default.fileExists(atPath: path)
  }

  package func callAsFunction(_ name: String) -> String { path + "/" + name }

  /// Puts a file in place as a careful writer does: whole, by a rename.
  @discardableResult
  package func write(_ text: String, to name: String) throws -> String {
    try Data(text.utf8).write(to: URL(fileURLWithPath: self(name)), options: .atomic)
    return self(name)
  }

  package func remove(_ name: String) { unlink(self(name)) }

  /// The names of all files in it, in their order.
  package var names: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
  }

  package func text(_ name: String) throws -> String {
    String(decoding: try Data(contentsOf: URL(fileURLWithPath: self(name))), as: UTF8.self)
  }

  /// The lines of a file, its last one included if it lacks a newline.
  package func lines(_ name: String) throws -> [String] {
    var lines = try text(name).split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    if lines.last == "" { lines.removeLast() }
    return lines
  }

  /// The mode of a file, without its type.
  package func mode(of name: String) -> UInt32? {
    var status = stat()
    return stat(self(name), &status) == 0 ? status.st_mode & 0o777 : nil
  }
}

import Foundation

/// A folder of a test's own, removed with its content when the test is done with it.
final class TemporaryFolder {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.appendingPathComponent("tap-log-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func callAsFunction(_ name: String) -> String { path + "/" + name }

  /// The lines of a file, its last one included if it lacks a newline.
  func lines(_ name: String) throws -> [String] {
    let text = String(decoding: try Data(contentsOf: URL(fileURLWithPath: self(name))), as: UTF8.self)
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    if lines.last == "" { lines.removeLast() }
    return lines
  }
}

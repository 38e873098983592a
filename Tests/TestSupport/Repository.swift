/// The files of this repository, for what one of them declares and another writes again.
package enum Repository {
  package static let folder: URL = {
    var folder = URL(fileURLWithPath: #filePath)
    for _ in 0..<3 { folder.deleteLastPathComponent() }
    return folder
  }()

  /// The text of a file, by its path in the repository.
  package static func text(_ path: String) throws -> String {
    try String(contentsOf: folder.appendingPathComponent(path), encoding: .utf8)
  }

  /// The text of an article of SessionTap, by its name.
  package static func article(_ name: String) throws -> String {
    try text("Sources/SessionTap/SessionTap.docc/\(name).md")
  }
}

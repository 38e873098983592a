import Glibc

/// A directory for the files of one test, removed at its end. Its path is short enough for a Unix socket.
final class TemporaryDirectory {
  let path: String

  init() throws {
    var template = Array("/tmp/tap-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw RawClient.Failure(description: "mkdtemp: \(errno)") }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit {
    if let directory = opendir(path) {
      while let entry = readdir(directory) {
        let name = withUnsafeBytes(of: entry.pointee.d_name) {
          String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        unlink(path + "/" + name)
      }
      closedir(directory)
    }
    rmdir(path)
  }

  /// Puts a file in place as a careful writer does: whole, by a rename.
  func write(_ text: String, to name: String) {
    let temporary = path + "/.new"
    let file = open(temporary, O_CREAT | O_WRONLY | O_TRUNC, 0o600)
    _ = text.withCString { Glibc.write(file, $0, text.utf8.count) }
    close(file)
    rename(temporary, path + "/" + name)
  }

  func remove(_ name: String) {
    unlink(path + "/" + name)
  }

  /// The mode of a file, without its type.
  func mode(of name: String) -> UInt32? {
    var status = stat()
    return stat(path + "/" + name, &status) == 0 ? status.st_mode & 0o777 : nil
  }
}

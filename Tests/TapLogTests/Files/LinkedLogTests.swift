import TestSupport

@testable import TapLog

/// A log whose path is a symbolic link.
@Suite(.needs(.thread)) struct LinkedLogTests {
  private func output(_ path: String) throws -> FileOutput {
    var configuration = RequestLog.Configuration()
    configuration.rotation = LogRotation(maximumSize: 1, keep: 9)
    return try FileOutput(path, configuration, LogFaults(of: "under test"))
  }

  private func link(_ path: String, to target: String) throws {
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
  }

  private func target(of link: String) throws -> String {
    try FileManager.default.destinationOfSymbolicLink(atPath: link)
  }

  private func folder(with subfolders: String...) throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    for name in subfolders {
      try FileManager.default.createDirectory(atPath: folder(name), withIntermediateDirectories: false)
    }
    return folder
  }

  @Test(arguments: ["data/target.jsonl", "data/link", "/absolute"])
  func `stays a link, and old files are beside its target, which may be missing`(first: String) throws {
    let folder = try folder(with: "logs", "data")
    let isAbsolute = first == "/absolute"
    try link(folder("logs/requests.jsonl"), to: isAbsolute ? folder("data/target.jsonl") : "../" + first)
    if first == "data/link" { try link(folder("data/link"), to: "target.jsonl") }
    var output = try output(folder("logs/requests.jsonl"))
    try output.write(lines: "one", "two", "three")
    output.close()
    #expect(try target(of: folder("logs/requests.jsonl")).hasSuffix(isAbsolute ? "data/target.jsonl" : first))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder("logs")) == ["requests.jsonl"])
    #expect(try folder.lines("data/target.jsonl") == ["three"])
    let old = try FileManager.default.contentsOfDirectory(atPath: folder("data")).sorted()
      .filter { $0.hasPrefix("target.jsonl.") }
    #expect(try old.map { try folder.lines("data/" + $0) } == [["one"], ["two"]])
  }

  @Test func `is followed to another target when it is changed`() throws {
    let folder = try folder(with: "a", "b")
    try link(folder("requests.jsonl"), to: "a/log")
    var output = try output(folder("requests.jsonl"))
    try output.write(lines: "one", "two")
    try FileManager.default.removeItem(atPath: folder("requests.jsonl"))
    try link(folder("requests.jsonl"), to: "b/log")
    try output.write(lines: "three", "four")
    output.close()
    #expect(try folder.lines("a/log") == ["two"])
    #expect(try folder.lines("b/log") == ["four"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder("b")).count == 2)
  }

  @Test(arguments: ["/dev/null", "/proc/self/fd/", "link to /proc/self/fd/"])
  func `to a device or a descriptor is never moved`(path: String) throws {
    let folder = try TemporaryFolder()
    let descriptor = try System.create(folder("file"), permissions: 0o600)
    defer { System.close(descriptor) }
    let target = path == "/dev/null" ? path : "/proc/self/fd/\(descriptor)"
    if path != "/proc/self/fd/" { try link(folder("requests.jsonl"), to: target) }
    var output = try output(path == "/proc/self/fd/" ? target : folder("requests.jsonl"))
    try output.write(lines: "one", "two", "three")
    output.close()
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    #expect(names == (path == "/proc/self/fd/" ? ["file"] : ["file", "requests.jsonl"]))
    if path != "/proc/self/fd/" { #expect(try self.target(of: folder("requests.jsonl")) == target) }
    #expect(try folder.lines("file") == (path == "/dev/null" ? [] : ["one", "two", "three"]))
  }
}

import TestSupport

@testable import TapLog

/// A log whose path is a symbolic link.
@Suite(.needs(.thread)) struct LinkedFileTests {
  private let rotation = LogRotation(maximumSize: 1, keep: 9)

  private func target(of link: String) throws -> String {
    try FileManager.default.destinationOfSymbolicLink(atPath: link)
  }

  @Test(arguments: ["data/target.jsonl", "data/link", "/absolute"])
  func `stays a link, and old files are beside its target, which may be missing`(first: String) throws {
    let isAbsolute = first == "/absolute"
    let log = try LogFolder("logs/requests.jsonl", rotation: rotation) { folder in
      for name in ["logs", "data"] { try folder.makeFolder(name) }
      try folder.link("logs/requests.jsonl", to: isAbsolute ? folder("data/target.jsonl") : "../" + first)
      if first == "data/link" { try folder.link("data/link", to: "target.jsonl") }
    }
    try log.write("one", "two", "three")
    #expect(try target(of: log.path).hasSuffix(isAbsolute ? "data/target.jsonl" : first))
    #expect(try log.folder.names(in: "logs") == ["requests.jsonl"])
    let names = try log.folder.names(in: "data").filter { $0 != "link" }
    #expect(try names.map { try log.folder.lines("data/" + $0) } == [["three"], ["one"], ["two"]])
  }

  @Test func `is followed to another target when it is changed`() throws {
    let log = try LogFolder(rotation: rotation) { folder in
      for name in ["a", "b"] { try folder.makeFolder(name) }
      try folder.link("requests.jsonl", to: "a/log")
    }
    try log.write("one", "two")
    log.folder.remove("requests.jsonl")
    try log.folder.link("requests.jsonl", to: "b/log")
    try log.write("three", "four")
    let files = try ["a", "b"].map { name in
      try log.folder.names(in: name).map { try log.folder.lines("\(name)/\($0)") }
    }
    #expect(files == [[["two"], ["one"]], [["four"], ["three"]]])
  }

  @Test(arguments: ["/dev/null", "/proc/self/fd/", "link to /proc/self/fd/"])
  func `to a device or a descriptor is never moved`(path: String) throws {
    let folder = try TemporaryFolder()
    let descriptor = try System.create(folder("file"), permissions: 0o600)
    defer { System.close(descriptor) }
    let target = path == "/dev/null" ? path : "/proc/self/fd/\(descriptor)"
    let isLink = path != "/proc/self/fd/"
    let log = try LogFolder(isLink ? "requests.jsonl" : target, rotation: rotation) {
      if isLink { try $0.link("requests.jsonl", to: target) }
    }
    try log.write("one", "two", "three")
    #expect(try log.folder.names == (isLink ? ["requests.jsonl"] : []))
    if isLink { #expect(try self.target(of: log.path) == target) }
    #expect(try folder.lines("file") == (path == "/dev/null" ? [] : ["one", "two", "three"]))
  }
}

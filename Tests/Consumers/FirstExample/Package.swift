// swift-tools-version: 6.1
import PackageDescription

let package = Package(
  name: "first-example",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "session-tap", path: "../../..")],
  targets: [
    .executableTarget(
      name: "first-example", dependencies: [.product(name: "SessionTap", package: "session-tap")],
      path: "Sources")
  ]
)

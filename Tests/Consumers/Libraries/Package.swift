// swift-tools-version: 6.2
import PackageDescription

// An app, and libraries that keep their URLSessions to themselves. `check` builds it within the package
// beside it.
let package = Package(
  name: "libraries",
  platforms: [.macOS(.v15)],
  products: [
    .executable(name: "libraries-tapped", targets: ["libraries-tapped"]),
    .executable(name: "libraries-every-session", targets: ["libraries-every-session"]),
  ],
  dependencies: [.package(name: "session-tap", path: "../../..")],
  targets: [
    .target(name: "Libraries"),
    .target(
      name: "Traffic",
      dependencies: [
        "Libraries", .product(name: "SessionTap", package: "session-tap"),
        .product(name: "TapTesting", package: "session-tap"),
      ]),
    .executableTarget(name: "libraries-tapped", dependencies: ["Libraries", "Traffic"]),
    .executableTarget(
      name: "libraries-every-session",
      dependencies: ["Libraries", "Traffic", .product(name: "TapEverySession", package: "session-tap")]),
  ]
)

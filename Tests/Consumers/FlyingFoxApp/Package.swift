// swift-tools-version: 6.1
import PackageDescription

let package = Package(
  name: "flyingfox-app",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "session-tap", path: "../../.."),
    .package(url: "https://github.com/swhitty/FlyingFox", exact: "0.27.1"),
  ],
  targets: [
    .executableTarget(
      name: "flyingfox-app",
      dependencies: [
        .product(name: "SessionTap", package: "session-tap"),
        .product(name: "TapCore", package: "session-tap"),
        .product(name: "FlyingFox", package: "FlyingFox"),
      ],
      path: "Sources",
      swiftSettings: [.enableUpcomingFeature("ExistentialAny")])
  ]
)

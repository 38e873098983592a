// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "hummingbird-app",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "session-tap", path: "../../.."),
    .package(path: "../Adapters"),
    // Without its traits Hummingbird needs neither swift-configuration nor the whole of Foundation.
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
  ],
  targets: [
    .executableTarget(
      name: "hummingbird-app",
      dependencies: [
        .product(name: "SessionTap", package: "session-tap"),
        .product(name: "TapAdapters", package: "Adapters"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ],
      path: "Sources")
  ]
)

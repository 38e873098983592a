// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "hummingbird-app",
  platforms: [.macOS(.v15)],
  products: [.executable(name: "hummingbird-app", targets: ["hummingbird-app"])],
  dependencies: [
    // The clone of SessionTap, or a submodule: here it is the repository that this app is in.
    .package(name: "session-tap", path: "../../.."),
    .package(path: "../../../Sources/Adapters"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
  ],
  targets: [
    .executableTarget(
      name: "hummingbird-app",
      dependencies: [
        .product(name: "SessionTap", package: "session-tap"),
        .product(name: "TapAsyncHTTPClient", package: "Adapters"),
        .product(name: "TapBootstrap", package: "Adapters"),
        .product(name: "TapHummingbird", package: "Adapters"),
        .product(name: "TapServiceLifecycle", package: "Adapters"),
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "Metrics", package: "swift-metrics"),
      ],
      path: "Sources")
  ]
)

// swift-tools-version: 6.2
import PackageDescription

/// What the adapters connect, for them and for their tests.
let adapted: [Target.Dependency] = [
  .product(name: "TapCore", package: "session-tap"),
  .product(name: "TapLog", package: "session-tap"),
  .product(name: "Logging", package: "swift-log"),
  .product(name: "Instrumentation", package: "swift-distributed-tracing"),
  .product(name: "Tracing", package: "swift-distributed-tracing"),
  .product(name: "AsyncHTTPClient", package: "async-http-client"),
  .product(name: "NIOCore", package: "swift-nio"),
  .product(name: "NIOHTTP1", package: "swift-nio"),
  .product(name: "NIOPosix", package: "swift-nio"),
  .product(name: "NIOSSL", package: "swift-nio-ssl"),
]

let package = Package(
  name: "tap-adapters",
  platforms: [.macOS(.v15)],
  products: [.library(name: "TapAdapters", targets: ["TapAdapters"])],
  dependencies: [
    .package(name: "session-tap", path: "../../.."),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
  ],
  targets: [
    .target(
      name: "TapAdapters", dependencies: adapted + [.product(name: "CoreMetrics", package: "swift-metrics")]),
    .testTarget(
      name: "TapAdaptersTests",
      dependencies: adapted + ["TapAdapters", .product(name: "Metrics", package: "swift-metrics")]),
  ]
)

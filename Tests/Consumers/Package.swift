// swift-tools-version: 6.2
import PackageDescription

// Apps that use SessionTap, and the tests of its adapters: one package, so that what they share is built
// once.

let settings: [SwiftSetting] = [.enableUpcomingFeature("ExistentialAny"), .treatAllWarnings(as: .error)]

let package = Package(
  name: "consumers",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "session-tap", path: "../.."),
    .package(path: "../../Sources/Adapters"),
    .package(path: "HummingbirdApp"),
    .package(path: "Libraries"),
    // Without its traits Hummingbird needs neither swift-configuration nor the whole of Foundation.
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: []),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0", traits: []),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
    .package(url: "https://github.com/swhitty/FlyingFox", exact: "0.27.1"),
  ],
  targets: [
    // The names of SessionTap beside those of the packages that apps use it with.
    .target(
      name: "Names",
      dependencies: [
        .product(name: "hummingbird-app", package: "HummingbirdApp"),
        .product(name: "libraries-tapped", package: "Libraries"),
        .product(name: "libraries-every-session", package: "Libraries"),
        .product(name: "SessionTap", package: "session-tap"),
        .product(name: "TapAsyncHTTPClient", package: "Adapters"),
        .product(name: "TapBootstrap", package: "Adapters"),
        .product(name: "TapEverySession", package: "session-tap"),
        .product(name: "TapHummingbird", package: "Adapters"),
        .product(name: "TapLogging", package: "Adapters"),
        .product(name: "TapMetrics", package: "Adapters"),
        .product(name: "TapServiceLifecycle", package: "Adapters"),
        .product(name: "TapTracing", package: "Adapters"),
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "Metrics", package: "swift-metrics"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "Tracing", package: "swift-distributed-tracing"),
      ],
      path: "Names", exclude: ["check"], swiftSettings: settings),
    // The Hummingbird app without a tap: what the other calls, and what it is measured against.
    .executableTarget(
      name: "bare-app",
      dependencies: [
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Logging", package: "swift-log"),
      ],
      path: "BareApp", swiftSettings: settings),
    // A service on its first day with a tap, and a library of its with a session inside.
    .target(
      name: "Prices", dependencies: [.product(name: "Logging", package: "swift-log")],
      path: "FirstHour/Sources/Prices", swiftSettings: settings),
    .executableTarget(
      name: "first-hour-app",
      dependencies: [
        "Prices",
        .product(name: "SessionTap", package: "session-tap"),
        .product(name: "TapEverySession", package: "session-tap"),
        .product(name: "TapAsyncHTTPClient", package: "Adapters"),
        .product(name: "TapBootstrap", package: "Adapters"),
        .product(name: "TapHummingbird", package: "Adapters"),
        .product(name: "TapServiceLifecycle", package: "Adapters"),
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "Metrics", package: "swift-metrics"),
      ],
      path: "FirstHour/Sources/App", swiftSettings: settings),
    .executableTarget(
      name: "flyingfox-app",
      dependencies: [
        .product(name: "SessionTap", package: "session-tap"),
        .product(name: "TapCore", package: "session-tap"),
        .product(name: "FlyingFox", package: "FlyingFox"),
      ],
      path: "FlyingFoxApp/Sources", swiftSettings: settings),
    .testTarget(
      name: "AdapterTests",
      dependencies: [
        .product(name: "SessionTap", package: "session-tap"),
        .product(name: "TapCore", package: "session-tap"),
        .product(name: "TapLog", package: "session-tap"),
        .product(name: "TapAsyncHTTPClient", package: "Adapters"),
        .product(name: "TapConfiguration", package: "Adapters"),
        .product(name: "TapHummingbird", package: "Adapters"),
        .product(name: "TapLogging", package: "Adapters"),
        .product(name: "TapMetrics", package: "Adapters"),
        .product(name: "TapTesting", package: "session-tap"),
        .product(name: "TapTracing", package: "Adapters"),
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "Configuration", package: "swift-configuration"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "HummingbirdTesting", package: "hummingbird"),
        .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
        .product(name: "Instrumentation", package: "swift-distributed-tracing"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "CoreMetrics", package: "swift-metrics"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
        .product(name: "Tracing", package: "swift-distributed-tracing"),
      ],
      path: "Adapters", exclude: ["check", "compare-plan"], swiftSettings: settings),
  ]
)

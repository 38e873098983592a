// swift-tools-version: 6.2
import PackageDescription

// Apps that use SessionTap, and the tests of its adapters: one package, so that what they share is built once.

let settings: [SwiftSetting] = [.enableUpcomingFeature("ExistentialAny"), .treatAllWarnings(as: .error)]

/// Products of a package.
func products(_ names: String..., of package: String) -> [Target.Dependency] {
  names.map { .product(name: $0, package: package) }
}

let package = Package(
  name: "consumers",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "session-tap", path: "../.."),
    .package(path: "../../Sources/Adapters"),
    .package(path: "HummingbirdApp"),
    // Without its traits Hummingbird needs neither swift-configuration nor the whole of Foundation.
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
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
      dependencies: products("hummingbird-app", of: "HummingbirdApp")
        + products("SessionTap", of: "session-tap")
        + products(
          "TapAsyncHTTPClient", "TapBootstrap", "TapHummingbird", "TapLogging", "TapMetrics",
          "TapServiceLifecycle", "TapTracing", of: "Adapters")
        + products("AsyncHTTPClient", of: "async-http-client") + products("HTTPTypes", of: "swift-http-types")
        + products("Hummingbird", of: "hummingbird") + products("Logging", of: "swift-log")
        + products("Metrics", of: "swift-metrics")
        + products("ServiceLifecycle", of: "swift-service-lifecycle")
        + products("Tracing", of: "swift-distributed-tracing"),
      path: "Names", exclude: ["check"], swiftSettings: settings),
    // The Hummingbird app without a tap: what the other calls, and what it is measured against.
    .executableTarget(
      name: "bare-app",
      dependencies: products("AsyncHTTPClient", of: "async-http-client")
        + products("Hummingbird", of: "hummingbird") + products("HTTPTypes", of: "swift-http-types"),
      path: "BareApp", swiftSettings: settings),
    .executableTarget(
      name: "flyingfox-app",
      dependencies: products("SessionTap", "TapCore", of: "session-tap")
        + products("FlyingFox", of: "FlyingFox"),
      path: "FlyingFoxApp/Sources", swiftSettings: settings),
    .testTarget(
      name: "AdapterTests",
      dependencies: products("SessionTap", "TapCore", "TapLog", of: "session-tap")
        + products(
          "TapAsyncHTTPClient", "TapHummingbird", "TapLogging", "TapMetrics", "TapTracing", of: "Adapters")
        + products("AsyncHTTPClient", of: "async-http-client") + products("HTTPTypes", of: "swift-http-types")
        + products("Hummingbird", "HummingbirdTesting", of: "hummingbird")
        + products("Instrumentation", "Tracing", of: "swift-distributed-tracing")
        + products("Logging", of: "swift-log") + products("CoreMetrics", of: "swift-metrics")
        + products("NIOCore", "NIOHTTP1", "NIOPosix", of: "swift-nio")
        + products("NIOSSL", of: "swift-nio-ssl"),
      path: "Adapters", exclude: ["check", "compare-plan"], swiftSettings: settings),
  ]
)

// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that SessionTap itself depends on none.

/// The settings of every target. SessionTap's own manifest says what each is for.
let settings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

/// A product of one target, in the folder of its name. SwiftPM builds the products that an app uses, but
/// fetches whatever a manifest names. It leaves out what only disabled traits need: hence the trait of each
/// adapter, of the same name.
struct Adapter {
  var name: String
  /// Other adapters that this one uses.
  var adapters: [String] = []
  /// Modules of SessionTap's, by the names of their products.
  var own: [String]
  /// Modules of other packages, by the names of their products, and the packages.
  var adapted: [(module: String, package: String)]

  var trait: Trait {
    .trait(name: name, description: "Fetches what \(name) needs.", enabledTraits: Set(adapters))
  }
  var product: Product { .library(name: name, targets: [name]) }
  var target: Target {
    .target(
      name: name,
      dependencies: adapters.map { .target(name: $0) }
        + own.map { .product(name: $0, package: "session-tap") }
        + adapted.map { .product(name: $0, package: $1, condition: .when(traits: [name])) },
      path: name, swiftSettings: settings)
  }
}

let adapters = [
  Adapter(
    name: "TapHummingbird",
    // Hummingbird itself needs what this one does.
    adapters: ["TapTracing"],
    own: ["SessionTap"],
    adapted: [
      ("Hummingbird", "hummingbird"), ("HummingbirdCore", "hummingbird"), ("HTTPTypes", "swift-http-types"),
      ("Instrumentation", "swift-distributed-tracing"), ("Logging", "swift-log"), ("NIOCore", "swift-nio"),
      ("NIOHTTP1", "swift-nio"), ("ServiceLifecycle", "swift-service-lifecycle"),
    ]),
  Adapter(
    name: "TapAsyncHTTPClient",
    own: ["SessionTap"],
    adapted: [
      ("AsyncHTTPClient", "async-http-client"), ("Logging", "swift-log"), ("NIOCore", "swift-nio"),
      ("NIOHTTP1", "swift-nio"), ("NIOPosix", "swift-nio"), ("NIOSSL", "swift-nio-ssl"),
      ("Tracing", "swift-distributed-tracing"),
    ]),
  Adapter(name: "TapMetrics", own: ["SessionTap"], adapted: [("CoreMetrics", "swift-metrics")]),
  Adapter(name: "TapLogging", own: ["SessionTap"], adapted: [("Logging", "swift-log")]),
  Adapter(
    name: "TapTracing",
    own: ["TapCore"],
    adapted: [
      ("Instrumentation", "swift-distributed-tracing"), ("Logging", "swift-log"),
      ("Tracing", "swift-distributed-tracing"),
    ]),
  Adapter(
    name: "TapBootstrap",
    adapters: ["TapLogging", "TapMetrics", "TapTracing"],
    own: ["SessionTap"],
    adapted: [
      ("CoreMetrics", "swift-metrics"), ("Instrumentation", "swift-distributed-tracing"),
      ("Logging", "swift-log"),
    ]),
  Adapter(
    name: "TapConfiguration", own: ["SessionTap"], adapted: [("Configuration", "swift-configuration")]),
  Adapter(
    name: "TapServiceLifecycle",
    own: ["SessionTap"],
    adapted: [("ServiceLifecycle", "swift-service-lifecycle")]),
]

let package = Package(
  name: "session-tap-adapters",
  platforms: [.macOS(.v15)],
  products: adapters.map(\.product),
  traits: Set(adapters.map(\.trait) + [.default(enabledTraits: Set(adapters.map(\.name)))]),
  dependencies: [
    // By this name, whatever the folder of the checkout is called.
    .package(name: "session-tap", path: "../.."),
    // Without traits: the app decides on them.
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.18.0", traits: []),
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.29.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.5.0"),
    // Without traits: the app decides on the forms of its files.
    .package(url: "https://github.com/apple/swift-configuration", from: "1.0.0", traits: []),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.1.0"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.6.0", traits: []),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.4.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.83.0"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.30.0"),
  ],
  targets: adapters.map(\.target)
)

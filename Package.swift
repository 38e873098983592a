// swift-tools-version: 6.2
import PackageDescription

/// One settings block for every target.
let settings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  // SE-0335: an existential is spelled `any P`.
  .enableUpcomingFeature("ExistentialAny"),
  // SE-0409: an import is internal unless it is declared public.
  .enableUpcomingFeature("InternalImportsByDefault"),
  // SE-0444: a file sees the members only of the modules that it imports.
  .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
  name: "session-tap",
  platforms: [.macOS(.v15)],
  products: [
    .library(name: "SessionTap", targets: ["SessionTap"]),
    .library(name: "TapCore", targets: ["TapCore"]),
    .library(name: "TapLog", targets: ["TapLog"]),
    .library(name: "TapEndpoint", targets: ["TapEndpoint"]),
    .library(name: "TapURLSession", targets: ["TapURLSession"]),
    .library(name: "TapEverySession", targets: ["TapEverySession"]),
    .executable(name: "session-tap", targets: ["session-tap"]),
  ],
  dependencies: [],
  targets: [
    .target(name: "TapLibc", swiftSettings: settings),
    .target(name: "TapLinux"),
    .target(name: "TapFoundation", swiftSettings: settings),
    .target(name: "TapCore", dependencies: ["TapLibc"], swiftSettings: settings),
    .target(name: "TapLog", dependencies: ["TapCore", "TapLibc"], swiftSettings: settings),
    .target(
      name: "TapEndpoint", dependencies: ["TapCore", "TapLibc", "TapLinux"], swiftSettings: settings),
    .target(
      name: "TapPage", dependencies: ["TapCore", "TapEndpoint"], resources: [.embedInCode("Web")],
      swiftSettings: settings),
    .target(
      name: "TapURLSession", dependencies: ["TapCore", "TapFoundation", "TapLibc"], swiftSettings: settings),
    .target(
      name: "SessionTap",
      dependencies: ["TapCore", "TapLog", "TapEndpoint", "TapFoundation", "TapPage", "TapURLSession"],
      swiftSettings: settings),
    // In C for a weak definition, which Swift does not have.
    .target(name: "TapSessionSymbols", exclude: ["linked-statically"]),
    .target(
      name: "TapEverySession",
      dependencies: ["SessionTap", "TapFoundation", "TapSessionSymbols", "TapURLSession"],
      swiftSettings: settings),
    .executableTarget(
      name: "session-tap", dependencies: ["SessionTap"], path: "Sources/Command",
      swiftSettings: settings),
    .executableTarget(
      name: "session-tap-benchmarks", dependencies: ["SessionTap"], path: "Sources/Benchmarks",
      swiftSettings: settings),

    .executableTarget(
      name: "endpoint-under-test", dependencies: ["TapEndpoint"], path: "Tests/EndpointUnderTest",
      swiftSettings: settings),
    .executableTarget(
      name: "core-and-log", dependencies: ["TapCore", "TapLog"], path: "Tests/CoreAndLog",
      swiftSettings: settings),
    .executableTarget(
      name: "log-under-test", dependencies: ["TapLog", "TestSupport"], path: "Tests/LogUnderTest",
      swiftSettings: settings),
    .executableTarget(
      name: "soak-under-test", dependencies: ["SessionTap", "TestSupport"], path: "Tests/SoakUnderTest",
      swiftSettings: settings),
    .target(name: "TestStart", path: "Tests/TestStart"),
    .target(
      name: "TestSupport", dependencies: ["TapCore", "TapFoundation", "TestStart"], path: "Tests/TestSupport",
      swiftSettings: settings),
    .testTarget(
      name: "TapCoreTests", dependencies: ["TapCore", "TestSupport"], swiftSettings: settings),
    .testTarget(
      name: "TapLogTests", dependencies: ["TapLog", "TestSupport"], swiftSettings: settings),
    .testTarget(
      name: "TapEndpointTests", dependencies: ["TapEndpoint", "TestSupport"],
      swiftSettings: settings),
    .testTarget(
      name: "TapPageTests", dependencies: ["SessionTap", "TapPage", "TestSupport"],
      swiftSettings: settings),
    .testTarget(
      name: "TapURLSessionTests", dependencies: ["TapURLSession", "TestSupport"],
      swiftSettings: settings),
    .testTarget(
      name: "SessionTapTests", dependencies: ["SessionTap", "TestSupport"],
      swiftSettings: settings),
    .testTarget(
      name: "DashboardTests", dependencies: ["SessionTap", "TestSupport"], swiftSettings: settings),
  ]
)

// swift-tools-version: 6.2
import PackageDescription

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
    .library(name: "TapTesting", targets: ["TapTesting"]),
    .executable(name: "session-tap", targets: ["session-tap"]),
  ],
  dependencies: [],
  targets: [
    .target(name: "TapLibc"),
    .target(name: "TapLinux"),
    .target(name: "TapFoundation"),
    .target(name: "TapCore", dependencies: ["TapLibc", "TapLinux"]),
    .target(name: "TapLog", dependencies: ["TapCore", "TapLibc"]),
    .target(name: "TapEndpoint", dependencies: ["TapCore", "TapLibc", "TapLinux"]),
    .target(name: "TapPage", dependencies: ["TapCore", "TapEndpoint"], exclude: ["Web"]),
    .target(name: "TapURLSession", dependencies: ["TapCore", "TapFoundation", "TapLibc"]),
    .target(
      name: "SessionTap",
      dependencies: ["TapCore", "TapLog", "TapEndpoint", "TapFoundation", "TapPage", "TapURLSession"]),
    // For an app's tests: no part of what ships.
    .target(name: "TapTesting", dependencies: ["SessionTap"]),
    // In C for a weak definition, which Swift does not have.
    .target(name: "TapSessionSymbols", exclude: ["linked-statically"]),
    .target(
      name: "TapEverySession",
      dependencies: ["SessionTap", "TapFoundation", "TapSessionSymbols", "TapURLSession"]),
    .executableTarget(name: "session-tap", dependencies: ["SessionTap"], path: "Sources/Command"),
    .executableTarget(
      name: "session-tap-benchmarks", dependencies: ["SessionTap"], path: "Sources/Benchmarks"),

    .executableTarget(
      name: "endpoint-under-test", dependencies: ["TapEndpoint"], path: "Tests/EndpointUnderTest"),
    .executableTarget(name: "core-and-log", dependencies: ["TapCore", "TapLog"], path: "Tests/CoreAndLog"),
    .executableTarget(
      name: "log-under-test", dependencies: ["TapLog", "TestSupport"], path: "Tests/LogUnderTest"),
    .executableTarget(
      name: "soak-under-test", dependencies: ["SessionTap", "TestSupport"], path: "Tests/SoakUnderTest"),
    .target(name: "TestStart", path: "Tests/TestStart"),
    .target(
      name: "TestSupport", dependencies: ["TapCore", "TapFoundation", "TestStart"], path: "Tests/TestSupport"),
    .testTarget(name: "TapCoreTests", dependencies: ["TapCore", "TestSupport"]),
    .testTarget(name: "TapLogTests", dependencies: ["TapLog", "TestSupport"]),
    .testTarget(name: "TapEndpointTests", dependencies: ["TapEndpoint", "TestSupport"]),
    .testTarget(name: "TapPageTests", dependencies: ["SessionTap", "TapPage", "TestSupport"]),
    .testTarget(name: "TapURLSessionTests", dependencies: ["TapURLSession", "TestSupport"]),
    .testTarget(
      name: "SessionTapTests", dependencies: ["SessionTap", "TapTesting", "TestSupport"],
      // A look-up that takes long: libcurl has to find the test's.
      linkerSettings: [
        .unsafeFlags(["-Xlinker", "--export-dynamic-symbol=getaddrinfo"], .when(platforms: [.linux]))
      ]),
  ]
)

for target in package.targets {
  target.swiftSettings = [
    .swiftLanguageMode(.v6),
    // SE-0335: an existential is spelled `any P`.
    .enableUpcomingFeature("ExistentialAny"),
    // SE-0409: an import is internal unless it is declared public.
    .enableUpcomingFeature("InternalImportsByDefault"),
    // SE-0444: a file sees the members only of the modules that it imports.
    .enableUpcomingFeature("MemberImportVisibility"),
  ]
  // `swift test -c release` is to try the library as it is optimised. Tests take the optimiser minutes, and
  // one of them ends that of 6.3.1.
  if target.type == .test {
    target.swiftSettings?.append(.unsafeFlags(["-Onone"], .when(configuration: .release)))
  }
}

// `TEST_TARGETS=TapLogTests swift test` builds and runs the tests of one module.
if let names = Context.environment["TEST_TARGETS"]?.split(separator: ","), !names.isEmpty {
  package.targets.removeAll { $0.type == .test && !names.contains(Substring($0.name)) }
}

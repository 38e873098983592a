import Configuration
import SessionTap
import TapConfiguration
import Testing

@Suite struct ConfigReaderTests {
  @Test func `a configuration has what a reader says, of whatever type it is there`() {
    let provider = InMemoryProvider(values: [
      "tap.host": "127.0.0.2", "tap.port": 0, "tap.serveLog": true, "tap.learnPaths": "1",
      "tap.waitingLimit": 2.5, "tap.serviceName": "shop", "tap.log": "off", "tap.logRotationKeep": "many",
      "tap.tracesSampler": "parentbased_always_on", "tap.exemplarFilter": "always_off", "port": 1,
    ])
    let configuration = Tap.Configuration(config: ConfigReader(provider: provider).scoped(to: "tap"))
    #expect(configuration.endpoint?.address.description == "127.0.0.2:0")
    #expect(configuration.servesLog && configuration.learnsPaths && configuration.log == nil)
    #expect(configuration.outbound.waitingLimit == .seconds(2.5))
    #expect(configuration.traceSamplingRate == 1 && configuration.exemplars == .none)
    #expect(configuration.serviceName == "shop")
    #expect(
      configuration.warnings.count == 1
        && configuration.warnings[0].hasPrefix("SESSION_TAP_LOG_ROTATION_KEEP"))
  }
}

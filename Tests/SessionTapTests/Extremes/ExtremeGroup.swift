/// The extremes that share a process.
enum ExtremeGroup: String, CaseIterable, Codable, Sendable {
  case tap, requests, inbound, metrics, families, log, logQueries, endpoint, limits, messages, push,
    observations

  var extremes: [Extreme] {
    switch self {
    case .tap: Self.tapExtremes
    case .requests: Self.requestExtremes
    case .inbound: Self.inboundExtremes
    case .metrics: Self.metricsExtremes
    case .families: Self.familyExtremes
    case .log: Self.logExtremes
    case .logQueries: Self.logQueryExtremes
    case .endpoint: Self.endpointExtremes
    case .limits: Self.limitExtremes
    case .messages: Self.messageExtremes
    case .push: Self.pushExtremes
    case .observations: Self.observationExtremes
    }
  }
}

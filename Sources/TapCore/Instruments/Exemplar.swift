struct Exemplar: Sendable, Hashable {
  let value: Double
  let timestamp: Timestamp
  let trace: TraceContext
}

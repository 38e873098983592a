/// An inbound request that has ended, on its way into the metrics and to the observers.
struct EndedInboundRequest: Sendable {
  let observation: InboundObservation
  let target: InboundTarget
}

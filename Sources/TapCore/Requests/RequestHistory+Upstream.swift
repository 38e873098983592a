extension RequestHistory {
  /// What the calls within the requests of one route took in one slot. Counts those requests alone within
  /// which there were calls.
  package struct Upstream: Sendable {
    /// `nil` if none matched.
    package let route: String?
    package internal(set) var requestCount = 0
    /// The sum of the durations of these requests.
    package internal(set) var duration = Duration.zero
    /// The sum of the times in which calls were active.
    package internal(set) var upstream = Duration.zero
    package internal(set) var clients: [UpstreamTime.Client] = []

    mutating func add(_ time: UpstreamTime, of duration: Duration) {
      requestCount += 1
      self.duration += duration
      upstream += time.duration
      for client in time.clients {
        let index = clients.firstIndex { $0.name == client.name } ?? clients.count
        if index == clients.count { clients.append(UpstreamTime.Client(name: client.name)) }
        clients[index].requestCount += client.requestCount
        clients[index].nanoseconds &+= client.nanoseconds
      }
    }

    var bytes: Int {
      clients.reduce(MemoryLayout<Upstream>.stride + (route?.utf8.count ?? 0)) {
        $0 + MemoryLayout<UpstreamTime.Client>.stride + $1.name.utf8.count
      }
    }
  }
}

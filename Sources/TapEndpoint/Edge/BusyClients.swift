#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The clients whose requests follow each other closely. A dispatch source is armed again after each event by
/// a thread of its own, which costs more than a small request; so these clients are asked by poll(2) instead,
/// between other work of the queue, until nothing has come for some microseconds. Then their sources take
/// over again.
///
/// Measured with 8 connections and one core: 52,000 requests a second without it, 115,000 with it.
struct BusyClients {
  /// A look costs in proportion to the number of clients, so it is bounded. The others have their sources.
  private static let capacity = 64
  /// Without any request for so long, the clients are not busy.
  private static let patience = Duration.microseconds(50)

  private var clients: [Client] = []
  private var descriptors: [pollfd] = []
  private var lastReady = ContinuousClock.now

  var isEmpty: Bool { clients.isEmpty }

  /// Takes a client that has just sent something, unless there is no room.
  mutating func insert(_ client: Client) -> Bool {
    guard clients.count < Self.capacity else { return false }
    client.busyIndex = clients.count
    clients.append(client)
    descriptors.append(pollfd(fd: client.descriptor, events: Int16(POLLIN), revents: 0))
    lastReady = .now
    return true
  }

  mutating func remove(_ client: Client) {
    guard let index = client.busyIndex else { return }
    client.busyIndex = nil
    let last = clients.removeLast()
    let descriptor = descriptors.removeLast()
    guard index < clients.count else { return }
    clients[index] = last
    descriptors[index] = descriptor
    last.busyIndex = index
  }

  /// The clients that have sent something, or have ended. Does not wait.
  mutating func ready() -> [Client] {
    guard poll(&descriptors, nfds_t(descriptors.count), 0) > 0 else { return [] }
    lastReady = .now
    return zip(clients, descriptors).lazy.filter { $1.revents != 0 }.map { client, _ in client }
  }

  /// All clients, if none of them is busy any more.
  mutating func cooled() -> [Client] {
    guard lastReady.duration(to: .now) > Self.patience else { return [] }
    for client in clients { client.busyIndex = nil }
    defer {
      clients = []
      descriptors = []
    }
    return clients
  }
}

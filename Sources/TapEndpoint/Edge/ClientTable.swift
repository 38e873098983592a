/// The clients by their slots, and the order in which they have to go when there is no room for another.
struct ClientTable {
  private var clients: [Client?] = []
  private var order = EvictionOrder()
  private var nextSerial: UInt64 = 0
  private(set) var count = 0

  /// All clients, as they are now.
  var all: [Client] { clients.compactMap { $0 } }

  /// The client of that name, if it is still there.
  subscript(key: Client.Key) -> Client? {
    guard clients.indices.contains(key.slot), let client = clients[key.slot], client.key == key else {
      return nil
    }
    return client
  }

  /// Adds a client, which is made with its name.
  mutating func add(_ make: (Client.Key) -> Client) -> Client {
    let slot = order.insert(.waiting)
    let client = make(Client.Key(slot: slot, serial: nextSerial))
    nextSerial += 1
    if slot < clients.count { clients[slot] = client } else { clients.append(client) }
    count += 1
    return client
  }

  mutating func remove(_ client: Client) {
    guard self[client.key] != nil else { return }
    order.remove(client.key.slot)
    clients[client.key.slot] = nil
    count -= 1
  }

  /// Notes that the client has taken up what it does now: of those who do the same, it is the last to go.
  mutating func moveToEnd(_ client: Client) {
    order.move(client.key.slot, to: client.connection.activity)
  }

  /// Who has to go first. Never the one that is kept.
  func first(keeping kept: Client?) -> Client? {
    order.first(keeping: kept?.key.slot).flatMap { clients[$0] }
  }
}

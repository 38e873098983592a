import Synchronization
import TapCore
import TapFoundation

/// A source of what is known of transfers: libcurl's info, or the kernel's of connections.
///
/// Its info is compared with what other sources say of the same transfer. If they contradict each other, the
/// info of that transfer is not used, and the contradiction is counted. After some contradictions the kernel,
/// whose info no server can change, is not asked any more. For libcurl see ``Doubts``: an odd server affects
/// only itself.
package final class Witness: Sendable {
  package static let libcurl = Witness("libcurl")
  package static let kernel = Witness("kernel")

  package let name: String
  private let agreementCount = Atomic<Int>(0)
  private let contradictionCount = Atomic<Int>(0)
  private let isRejected = Atomic<Bool>(false)
  private let isChecked = Atomic<Bool>(false)

  init(_ name: String) { self.name = name }

  /// Whether what it says is used.
  package var isBelieved: Bool { !isRejected.load(ordering: .relaxed) }

  /// How often it was contradicted.
  package var contradictions: Int { contradictionCount.load(ordering: .relaxed) }

  /// `true` once: the layout is to be checked before the first reading.
  var isUnchecked: Bool {
    !isChecked.load(ordering: .relaxed) && !isChecked.exchange(true, ordering: .relaxed)
  }

  /// Whether it is time for a comparison that costs something: at first each time, later once in 64 times.
  var isDue: Bool {
    let agreements = agreementCount.load(ordering: .relaxed)
    return agreements < 16 || agreements & 63 == 0
  }

  /// Another source has said the same.
  func noteAgreement() { agreementCount.add(1, ordering: .relaxed) }

  /// Another source has said something else.
  func noteContradiction() { contradictionCount.add(1, ordering: .relaxed) }

  /// Three contradictions are enough, if they are more than one answer in eight.
  ///
  /// - Returns: Whether the witness is not believed from now on.
  func rejectIfContradicted() -> Bool {
    contradictions >= 3 && contradictions > agreementCount.load(ordering: .relaxed) / 8 && reject()
  }

  /// - Returns: Whether it was believed before.
  func reject() -> Bool { !isRejected.exchange(true, ordering: .relaxed) }
}

/// The servers of whose transfers libcurl's info is not used for a while, since it was contradicted.
///
/// libcurl and Foundation may both be right about a response, and differ for an unknown reason. The effect
/// stays with its server, and passes.
final class Doubts: Sendable {
  static let ofLibcurl = Doubts()

  private struct Doubt {
    /// Contradictions less agreements.
    var contradictions = 0
    var expiry: Instant
  }

  /// A server is doubted if contradictions exceed agreements by this number.
  private static let enough = 3
  /// The most servers that are remembered. Beyond them a contradicted transfer is still discarded by itself.
  private static let limit = 256
  /// From the first contradiction, and again from the one that was enough.
  private static let duration = Duration.seconds(600)

  private let hasNone = Atomic(true)
  private let servers = Mutex<[String: Doubt]>([:])

  /// Whether no server is remembered. While one is, each response is compared.
  var isEmpty: Bool { hasNone.load(ordering: .relaxed) }

  /// Whether libcurl's info of a server is not used. Without any doubt the name is not evaluated.
  func contains(_ server: @autoclosure () -> String, at now: Instant) -> Bool {
    if isEmpty { return false }
    let server = server()
    return change { servers in
      servers = servers.filter { now < $0.value.expiry }
      return servers[server].map { $0.contradictions >= Self.enough } ?? false
    }
  }

  func noteAgreement(of server: @autoclosure () -> String) {
    if isEmpty { return }
    let server = server()
    change { servers in
      servers[server]?.contradictions -= 1
      if servers[server]?.contradictions == 0 { servers[server] = nil }
    }
  }

  /// - Returns: Whether the server's transfers are doubted from now on.
  func noteContradiction(of server: String, at now: Instant) -> Bool {
    change { servers in
      servers = servers.filter { now < $0.value.expiry }
      guard servers[server] != nil || servers.count < Self.limit else { return false }
      let expiry = now.advanced(by: Self.duration)
      var doubt = servers[server] ?? Doubt(expiry: expiry)
      doubt.contradictions += 1
      let isEnough = doubt.contradictions == Self.enough
      if isEnough { doubt.expiry = expiry }
      servers[server] = doubt
      return isEnough
    }
  }

  private func change<Result: Sendable>(_ body: (inout [String: Doubt]) -> Result) -> Result {
    servers.withLock { servers in
      defer { hasNone.store(servers.isEmpty, ordering: .relaxed) }
      return body(&servers)
    }
  }
}

/// libcurl beside the tap and Foundation.
extension TransferInfo {
  /// Whether libcurl's info can be that of this transfer, whose response has arrived.
  ///
  /// - Parameter response: The task's, if it was looked at.
  func agrees(with response: HTTPURLResponse?) -> Bool {
    // libcurl's time began later, and may be of the last leg alone. Its clock need not go like the tap's
    // (`CLOCK_MONOTONIC_RAW`).
    let most = elapsed + elapsed / 64 + 20_000_000
    guard 0...most ~= total, 0...most ~= startTransfer, receivedBytes.map({ $0 >= 0 }) != false else {
      return false
    }
    guard let status = response?.statusCode ?? relay.statusCode else { return true }
    guard statusCode == status else { return false }
    guard let response, let loadedBytes = relay.loadedBytes, isBodyComparable(with: response) else {
      return true
    }
    return receivedBytes == loadedBytes
  }

  /// Whether the bytes that came by the relay are those that libcurl counted: of one leg, and not decoded.
  /// Foundation drops the body of a redirect that it cannot follow.
  private func isBodyComparable(with response: HTTPURLResponse) -> Bool {
    redirectCount == 0 && relay.restart == 0 && !(300..<400).contains(response.statusCode)
      && !Self.isDecoded(response)
  }
}

import Synchronization
import TapFoundation

/// A source of what is known of transfers: libcurl's info, or the kernel's of connections.
///
/// What it says is compared with what others say of the same transfer. Where they contradict each other, what
/// the witness says is not used and counted; after some contradictions nothing of it is used any more in this
/// process.
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

  /// `true` once: what it is read by is to be checked before.
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

  /// Another source has said something else. Three times are enough, if they are more than one answer in
  /// eight.
  ///
  /// - Returns: Whether the witness is not believed from now on.
  func noteContradiction() -> Bool {
    let contradictions = contradictionCount.add(1, ordering: .relaxed).newValue
    return contradictions >= 3 && contradictions > agreementCount.load(ordering: .relaxed) / 8 && reject()
  }

  /// - Returns: Whether it was believed before.
  func reject() -> Bool { !isRejected.exchange(true, ordering: .relaxed) }
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
    // What came by is of all legs, and decoded.
    guard let response, let loadedBytes = relay.loadedBytes, redirectCount == 0, relay.restart == 0,
      response.value(forHTTPHeaderField: "Content-Encoding") == nil
    else { return true }
    return receivedBytes == loadedBytes
  }
}

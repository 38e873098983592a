import Foundation
import FoundationNetworking
import Libraries
import SessionTap
import Traffic

// What an app can do without TapEverySession: `stock` has no tap, `tapped` one wherever a library lets it.
let arguments = CommandLine.arguments
if arguments[1] == "measure" {
  print("without TapEverySession: \(medians((0..<15).map { _ in measure() }))")
} else if let origin = URL(string: arguments[2]) {
  let tap = arguments[1] == "tapped" ? try makeTap() : nil
  tap?.install(on: .shared, client: "shared")
  let session = tap?.session(client: "api") ?? URLSession(configuration: .default)
  let results = try await traffic(rounds: 200, to: origin, api: API(session: session))
  try report(results, tap?.counts() ?? [:])
}

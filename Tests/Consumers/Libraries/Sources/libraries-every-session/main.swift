import Foundation
import FoundationNetworking
import Libraries
import SessionTap
import TapEverySession
import Traffic

let arguments = CommandLine.arguments
let origin = arguments.count > 2 ? URL(string: arguments[2]) : nil
switch (arguments[1], origin) {
case ("traffic", let origin?):
  let tap = try makeTap()
  expect(tap.observeEverySession(client: "app") == .observed(earlierSessions: 0), "not in effect")
  let results = try await traffic(rounds: 200, to: origin, api: API())
  try report(results, tap.counts())
case ("edges", let origin?): try await edges(at: origin)
case ("threads", let origin?): try await threads(at: origin)
case ("plugin", let origin?): try plugin(arguments[3], at: origin.appendingPathComponent("hello"))
case ("status", _): print(try makeTap().observeEverySession(client: "app"))
case ("measure", _):
  // In turns, since the machine may be busy.
  var rounds = [[[Double]]](repeating: [], count: 2)
  for _ in 0..<15 {
    rounds[0].append(measure())
    let tap = try makeTap()
    tap.observeEverySession(client: "app")
    rounds[1].append(measure())
    await tap.shutdown()
  }
  print("without a tap: \(medians(rounds[0]))\nwith a tap: \(medians(rounds[1]))")
default: expect(false, "no such program: \(arguments)")
}

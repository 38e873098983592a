import TestSupport

/// The load of Tests/Scripts/soak, and the server that it goes to, each in a process of its own.
///
///     soak-under-test origin                                  prints its port and one that refuses
///     soak-under-test load PORT CLOSED-PORT SECONDS RATE LOG  requests through a tap that logs to LOG
///     soak-under-test load PORT CLOSED-PORT SECONDS RATE --stock
///                                                             the same without a tap
///
///     soak-under-test die PORT FOLDER RUN END MODE            requests of which some are active when the
///                                                             process dies (Tests/Scripts/kill-black-box)
///
/// Lines of JSON on standard output say how far the load is. At its end it waits for a line on standard input
/// before the tap is shut down.
let arguments = Array(CommandLine.arguments.dropFirst())
switch (arguments.first, arguments.count) {
case ("origin", 1):
  let origin = try Origin(keepsRequests: false) { RandomRequest.steps(for: $0) }
  let closed = try ClosedPort()
  FileHandle.standardOutput.write(Data("\(origin.port) \(closed.port)\n".utf8))
  while readLine() != nil {}
  withExtendedLifetime((origin, closed)) {}
case ("load", 6):
  let numbers = arguments[1...4].compactMap { Int($0) }
  guard numbers.count == 4 else { exit(64) }
  let load = try SoakLoad(
    port: numbers[0], closedPort: numbers[1], log: arguments[5] == "--stock" ? nil : arguments[5])
  try await load.run(seconds: numbers[2], rate: numbers[3])
case ("die", 6):
  let victim = try BlackBoxVictim(port: Int(arguments[1]) ?? 0, folder: arguments[2], run: arguments[3])
  if arguments[4] == "shutdown" {
    await victim.shutDown()
  } else {
    let isHeld = arguments[5] == "held"
    Thread.detachNewThread { [end = arguments[4]] in victim.die(end, within: isHeld ? 50_000 : 400_000) }
    try victim.live(isHeld: isHeld)
  }
default:
  FileHandle.standardError.write(Data("usage: see main.swift\n".utf8))
  exit(64)
}

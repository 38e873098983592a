import Foundation

// The main thread waits here, where an asynchronous `main` would end it: valgrind does not survive that.
let arguments = Array(CommandLine.arguments.dropFirst())
Task.detached { exit(await BenchmarkCommand.run(arguments)) }
DispatchSemaphore(value: 0).wait()

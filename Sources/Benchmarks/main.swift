import Foundation

exit(await BenchmarkCommand.run(Array(CommandLine.arguments.dropFirst())))

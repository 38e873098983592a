/// The exit codes of the command, by `sysexits.h`.
enum ExitCode: Int32 {
  case success = 0
  /// `EX_USAGE`: the command line is wrong.
  case usage = 64
  /// `EX_UNAVAILABLE`: the address to serve at is taken, or not this machine's.
  case unavailable = 69
  /// `EX_CANTCREAT`: the log cannot be opened.
  case cannotCreate = 73
}

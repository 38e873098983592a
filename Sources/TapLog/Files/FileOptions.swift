/// What a log file is opened with.
struct FileOptions: Sendable {
  var path: String
  var permissions = 0o640
  var rotation: LogRotation?
  var synchronizationInterval: Duration?
  var reopensOnHangup = false
}

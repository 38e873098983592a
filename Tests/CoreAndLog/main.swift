import TapCore
import TapLog

// An app that wants instruments and a log only: what it loads shows what those two modules bring along.
let registry = Registry()
try registry.counter("jobs_total", help: "Jobs done.").increment()
let log = try RequestLog(to: .standardError)
try registry.register(log)
print(String(decoding: registry.exposition().body, as: UTF8.self), terminator: "")
log.shutdown()

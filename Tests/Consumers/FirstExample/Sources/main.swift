import Foundation
import SessionTap

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

var configuration = Tap.Configuration(environment: ProcessInfo.processInfo.environment)
configuration.log = .file("requests.jsonl")
configuration.requests.pathTemplates = ["/users/{id}"]
let tap = try Tap.start(configuration)

// The one line that changes: the configuration goes through the tap.
let session = URLSession(configuration: tap.configuration(from: .default, client: "users"))
if let url = URL(string: "https://api.example.com/users/42?token=secret") {
  _ = try? await session.data(from: url)
}

// The app's own metrics, beside those of its requests.
let jobs = try tap.registry.counter("jobs_total", help: "Jobs done.")
jobs.increment()

// http://localhost:9464/metrics and requests.jsonl now tell how it went.
await tap.shutdown()

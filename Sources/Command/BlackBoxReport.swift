import Foundation
import SessionTap

/// What `session-tap black-box FILE` prints: the active requests of a process that has died, or that may not
/// answer. It reads the file alone.
struct BlackBoxReport {
  private let path: String
  private let content: BlackBoxContent?
  private let isRunning: Bool

  init(_ options: Options) throws {
    guard let path = options.operands.first, options.operands.count == 1 else {
      throw UsageError("black-box takes one file")
    }
    self.path = path
    (content, isRunning) = try BlackBoxFile.read(path: path)
  }

  func print(asJSON: Bool) {
    guard let content else { return asJSON ? () : Terminal.say("\(path): no process has used it") }
    if asJSON {
      let lines = RequestLog.lines(of: content, isRunning: isRunning)
      // Each has its newline.
      if !lines.isEmpty { Terminal.say(String(decoding: lines.dropLast(), as: UTF8.self)) }
      return
    }
    Terminal.say(summary(of: content))
    let rows = content.requests.map(Self.row)
    if rows.isEmpty { return }
    Terminal.say("")
    for line in Self.table([["AGE", "CLIENT", "METHOD", "URL", "WAITS FOR", "TRACE"]] + rows) {
      Terminal.say(line)
    }
  }

  private func summary(of content: BlackBoxContent) -> String {
    let name = content.serviceName.isEmpty ? "" : " of \(content.serviceName)"
    let end = isRunning ? "runs" : content.isClosed ? "ended in order" : "ended without a shutdown"
    let count = content.tornCount
    let torn = count > 0 ? ", and \(count) that \(count == 1 ? "was" : "were") being written" : ""
    let missing = content.missingCount > 0 ? ", \(content.missingCount) without a place in the file" : ""
    return "process \(content.processID)\(name), since \(content.opened.utc), \(end); "
      + "last seen at \(content.lastSign.utc); "
      + "active requests: \(content.requests.count)\(missing)\(torn)"
  }

  private static func row(_ snapshot: RequestSnapshot) -> [String] {
    let request = snapshot.request
    let age = (snapshot.duration / .seconds(1))
      .formatted(.number.precision(.fractionLength(1)).grouping(.never))
    let template = request.urlTemplate.map { request.url.isEmpty ? $0 : " (\($0))" } ?? ""
    let server = request.url.isEmpty ? request.serverAddress.map { $0 + " " } ?? "" : ""
    return [
      "\(age) s", request.direction == .inbound ? "(served)" : request.client, request.method,
      server + request.url + template, snapshot.wait?.rawValue ?? "", request.traceContext?.traceID ?? "",
    ].map(\.oneLine)
  }

  /// Columns of equal width, but for the last ones of each row.
  private static func table(_ rows: [[String]]) -> [String] {
    let widths = (rows.first ?? []).indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
      zip(row, widths).map { $0.padding(toLength: $1, withPad: " ", startingAt: 0) }
        .joined(separator: "  ").replacing(#/ +$/#, with: "")
    }
  }
}

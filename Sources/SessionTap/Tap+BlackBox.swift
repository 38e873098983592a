import TapCore
import TapLog

extension Tap.Configuration {
  /// The file of the black box, if there is to be one that can be used.
  mutating func openBlackBox() -> BlackBoxFile? {
    guard let blackBox else { return nil }
    do {
      let file = try BlackBoxFile(path: blackBox, knownMethods: KnownMethods(knownMethods))
      ExitFlush.add(file)
      return file
    } catch {
      warnings.append("there is no black box \(blackBox): \(error)")
      return nil
    }
  }

  /// Warns that the process before ended without a shutdown.
  mutating func warn(of content: BlackBoxContent?) {
    guard let content else { return }
    let name = content.serviceName.isEmpty ? "" : " of \(content.serviceName)"
    warnings.append(
      "process \(content.processID)\(name) ended without a shutdown, last seen at \(content.lastSign.utc); "
        + "active requests: \(content.requestCount)\(log == nil ? "" : "; a line for each follows")")
  }

  /// Writes the lines of what the process before has left, and takes its file over.
  mutating func takeOver(_ file: BlackBoxFile, log: RequestLog?) -> BlackBox? {
    if let log {
      file.noteLog()
      file.tell(in: log)
    }
    do {
      return try BlackBox(
        file, serviceName: target["service_name"] ?? "", writeURL: logging.redaction.writeURL
      ) { [isQuiet] fault in
        log?.log(.warn, fault)
        if !isQuiet { StandardError.write(line: "session-tap: warning: \(fault)") }
      }
    } catch {
      let warning = "there is no black box \(file.path): \(error)"
      log?.log(.warn, warning)
      warnings.append(warning)
      return nil
    }
  }
}

extension BlackBoxFile {
  /// How many lines may be written twice, if the process is ended within them.
  private static let step = 64

  /// Writes a line for each request that no process has told. A start waits a second at most for the log's
  /// disk; what is in the queue by then is lost only if this process is killed as well.
  fileprivate func tell(in log: RequestLog) {
    guard let content else { return }
    let deadline = Instant.now.advanced(by: .seconds(1))
    var (told, untold) = (content.toldCount, content.untold)
    while !untold.isEmpty {
      let step = untold.prefix(Self.step)
      for request in step { log.requestWasUnfinished(request, of: content) }
      if content.missingCount > 0, step.endIndex == untold.endIndex {
        log.requestsAreUnfinished(content.missingCount)
      }
      untold = untold.dropFirst(step.count)
      told += step.count
      if log.flush(within: Instant.now.duration(to: deadline)) { noteTold(told) }
    }
  }
}

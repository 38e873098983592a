import Synchronization

/// The file of a black box: what a process before has left in it, and, once this one has taken it over, the
/// memory that both the process and the file have.
///
/// A store into the memory behind the end of its file ends the process (SIGBUS, mmap(2)), and so does one
/// for which a full file system has no block. So its space is reserved, and nobody but this user may open
/// it. A file of a tmpfs cannot be sealed against a shorter size: only a memfd can, which has no name
/// (fcntl(2), `F_SEAL_SEAL`). So the file may not be written to while it is mapped, not even by its owner,
/// and its size is looked at each second.
package final class BlackBoxFile: Sendable {
  private struct State: Sendable {
    /// The file and its lock, until the end.
    var descriptors: System.OwnedFile?
    /// Where it is mapped, from the takeover on; the memory stays, whatever becomes of the file.
    var memory: SharedMapping?
    var isReplaced = false
  }

  package let path: String
  /// What a process before has left that did not end in order.
  package let content: BlackBoxContent?
  private let state: Mutex<State>
  /// An exit of the process writes what was active into the log.
  private let tellsAtExit = Atomic(false)

  /// Opens the file, or makes it, and locks it for as long as the process lives. Refuses whatever could harm
  /// this process or another one.
  package init(path: String, knownMethods: KnownMethods = .standard) throws(BlackBoxError) {
    self.path = System.absolute(path)
    let file = try System.OwnedFile(path: self.path)
    do {
      let content = try Self.content(of: file.descriptor, knownMethods)
      self.content = content?.isClosed == true ? nil : content
    } catch {
      file.close()
      throw error
    }
    state = Mutex(State(descriptors: file))
  }

  deinit {
    close()
    state.withLock { $0.memory?.free() }
  }

  /// Reads a file beside the process that it belongs to.
  ///
  /// - Returns: What the file says, `nil` if no process has used it, and whether a process has it now.
  package static func read(
    path: String, knownMethods: KnownMethods = .standard
  ) throws(BlackBoxError) -> (content: BlackBoxContent?, isInUse: Bool) {
    let descriptor: Int32
    do { descriptor = try System.openForReading(path) } catch { throw .cannotOpen(error) }
    defer { System.close(descriptor) }
    guard (try? System.status(ofDescriptor: descriptor))?.kind == .regular else { throw .isNoFile }
    let content = try content(of: descriptor, knownMethods)
    return (content, System.isLocked(descriptor))
  }

  private static func content(
    of descriptor: Int32, _ knownMethods: KnownMethods
  ) throws(BlackBoxError) -> BlackBoxContent? {
    var readings: [[UInt8]] = []
    for _ in 0..<3 {
      // One byte more shows a longer file.
      do throws(System.Failure) {
        readings.append(try System.beginning(of: descriptor, count: BlackBoxHeader.fileSize + 1))
      } catch { throw .cannotOpen(error) }
    }
    return try BlackBoxContent(readings, knownMethods: knownMethods)
  }

  /// Notes how many of the requests in ``content`` have been told: a process that is ended now tells the
  /// rest.
  package func noteTold(_ count: Int) {
    state.withLock { state in
      state.descriptors?.write(Int64(count), at: BlackBoxHeader.Place.told)
    }
  }

  /// Takes the file over: forgets what is in it.
  ///
  /// - Returns: The memory of the file.
  func takeOver(serviceName: String) throws(BlackBoxError) -> SharedMapping {
    try state.withLock { (state) throws(BlackBoxError) in
      guard var file = state.descriptors else { throw .isUnstable }
      let memory = try SharedMapping(
        file.descriptorForWriting, size: BlackBoxHeader.fileSize, lock: file.descriptor)
      // A process that is ended from here on tells nothing twice.
      memory.begin(with: BlackBoxHeader.page(processID: System.processID, serviceName: serviceName))
      memory.word(at: BlackBoxHeader.Place.isOpen).pointee.store(1, ordering: .releasing)
      file.endWriting()
      (state.descriptors, state.memory) = (file, memory)
      return memory
    }
  }

  /// Writes a sign of life, and looks whether the file is still as it was.
  ///
  /// - Returns: What is wrong with the file, said once, and whether to come again.
  func look(at now: Instant, time: Timestamp = .now) -> (fault: String?, comesAgain: Bool) {
    state.withLock { state in
      guard let file = state.descriptors, let memory = state.memory else { return (nil, false) }
      let status = try? System.status(ofDescriptor: file.descriptor)
      // Read, and not looked at in the memory: it may be cut now. An emptied file of the same size has none.
      let magic = try? System.beginning(of: file.descriptor, count: BlackBoxHeader.magic.count)
      guard status?.size == BlackBoxHeader.fileSize, magic == BlackBoxHeader.magic else {
        Self.leave(&state)
        return ("was cut by another process, and is used no more", false)
      }
      let lead = time.nanosecondsSinceEpoch &- now.nanoseconds
      memory.word(at: BlackBoxHeader.Place.wallClockLead).pointee.store(lead, ordering: .relaxed)
      memory.word(at: BlackBoxHeader.Place.lastSign).pointee.store(now.nanoseconds, ordering: .relaxed)
      let atPath = try? System.status(ofLinkAtPath: path)
      guard !state.isReplaced, let status, atPath?.isSameFile(as: status) != true else { return (nil, true) }
      state.isReplaced = true
      return (
        "was removed or replaced: what is active is found in no file until the next start of the app", true
      )
    }
  }

  /// Marks the file as that of a regular end, and releases it. What is written into the memory from now on
  /// goes nowhere.
  package func close() {
    state.withLock { state in
      state.memory?.word(at: BlackBoxHeader.Place.isOpen).pointee.store(0, ordering: .releasing)
      Self.leave(&state)
    }
  }

  private static func leave(_ state: inout State) {
    // Once: by then another file may have what this one's memory was noted with.
    guard let file = state.descriptors else { return }
    // The lock goes last: until then no other process uses the file.
    if let memory = state.memory, !memory.detach() { return }
    file.close()
    state.descriptors = nil
  }

  /// An exit without a shutdown tells what is active, in the log.
  package func noteLog() {
    tellsAtExit.store(true, ordering: .relaxed)
  }
}

extension BlackBoxFile: FlushedAtExit {
  /// Called behind the log, which is added later.
  package func flushAtExit(within limit: Duration) {
    guard limit > .zero, tellsAtExit.load(ordering: .relaxed) else { return }
    state.withLock { state in
      state.memory?.word(at: BlackBoxHeader.Place.isOpen).pointee.store(0, ordering: .releasing)
    }
  }
}

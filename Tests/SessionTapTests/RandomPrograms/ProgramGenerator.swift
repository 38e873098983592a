import TestSupport

/// Makes programs. The same seed makes the same one.
struct ProgramGenerator {
  static let clients = ["a", "b", "c"]

  private var random: SeededGenerator
  private var model = ProgramModel()
  private var steps: [RandomProgram.Step] = []
  private var counts: [String: Int] = [:]

  static func program(seed: UInt64) -> RandomProgram {
    var generator = ProgramGenerator(random: SeededGenerator(seed: seed))
    generator.run()
    return RandomProgram(seed: seed, steps: generator.steps)
  }

  private init(random: SeededGenerator) { self.random = random }

  private mutating func run() {
    for _ in 0..<pick([1, 2, 2, 2, 3, 3, 4]) {
      append(.tap(name("t"), hasEndpoint: chance(3, in: 5), hasLog: chance(3, in: 4)))
    }
    let length = steps.count + Int.random(in: 6...26, using: &random)
    // What a step needs may not be there yet.
    for _ in 0..<20 * length where steps.count < length { if let step = step() { append(step) } }
    // What the steps have made of each session shows.
    for session in model.sessions.keys.sorted() {
      append(
        .request(
          ProgramRequest(
            name: name("r"), session: session, kind: .data, style: .async, target: .origin(.sized),
            cancel: .never, method: "GET")))
    }
  }

  private mutating func append(_ step: RandomProgram.Step) {
    model.take(step)
    steps.append(step)
  }

  private mutating func step() -> RandomProgram.Step? {
    switch Int.random(in: 0..<33, using: &random) {
    case 0..<6: patch()
    case 6..<9: session()
    case 9..<13: changeSession { tap, session, client in .install(tap, on: session, client: client) }
    case 13..<15: changeSession { tap, session, _ in .uninstall(tap, from: session) }
    case 15..<22: request(isHeld: false).map { .request($0) }
    case 22..<24: request(isHeld: true).map { .begin($0) }
    case 24..<26: endOfOpen()
    case 26..<28: tap().map { .start($0) }
    case 28: tap().map { .shutdown($0) }
    case 29: tap().map { .scrape($0) }
    default: block()
    }
  }

  private mutating func endOfOpen() -> RandomProgram.Step? {
    guard let name = any(of: model.open.keys) else { return nil }
    return model.open[name]?.canCancel == true && chance(1, in: 2) ? .cancel(name) : .finish(name)
  }

  /// Steps at the same time: none changes a session whose tasks another one resumes, and none needs what
  /// another one makes.
  private mutating func block() -> RandomProgram.Step? {
    var steps: [RandomProgram.Step] = []
    var stopped: Set<ProgramName> = []
    for _ in 0..<Int.random(in: 2...6, using: &random) {
      switch Int.random(in: 0..<14, using: &random) {
      case 0..<8: if let request = request(isHeld: false) { steps.append(.request(request)) }
      case 8..<10:
        if steps.count(where: \.isBegin) < 2, let request = request(isHeld: true) {
          steps.append(.begin(request))
        }
      case 10: if let patch = patch() { steps.append(patch) }
      case 11: if let tap = tap() { steps.append(.scrape(tap)) }
      default:
        guard let tap = tap(), stopped.insert(tap).inserted else { continue }
        // What comes of two starts is told by a shutdown alone.
        if chance(1, in: 3) { steps.append(.start(tap)) }
        steps.append(.shutdown(tap))
      }
    }
    return steps.count > 1 ? .together(steps) : nil
  }

  private mutating func patch() -> RandomProgram.Step? {
    guard let tap = tap() else { return nil }
    return .patch(name("k"), by: tap, from: source(), client: client())
  }

  private mutating func session() -> RandomProgram.Step {
    if chance(1, in: 12), !model.sessions.values.contains(where: \.isShared) {
      return .session(name("s"), .shared, hasDelegate: false)
    }
    return .session(name("s"), .stock(source()), hasDelegate: chance(1, in: 2))
  }

  private mutating func changeSession(
    _ step: (_ tap: ProgramName, _ session: ProgramName, _ client: String) -> RandomProgram.Step
  ) -> RandomProgram.Step? {
    guard let tap = tap(), let session = any(of: model.sessions.keys) else { return nil }
    return step(tap, session, client())
  }

  /// Mostly what was patched before.
  private mutating func source() -> RandomProgram.Source {
    if chance(1, in: 6), let session = any(of: model.sessions.keys) { return .session(session) }
    if chance(3, in: 4), let one = any(of: model.configurations.keys) { return .configuration(one) }
    return chance(3, in: 4) ? .ephemeral : .standard
  }

  private mutating func request(isHeld: Bool) -> ProgramRequest? {
    guard let session = any(of: model.sessions.keys) else { return nil }
    // A session has six connections to a server (`httpMaximumConnectionsPerHost`), and what finds none free
    // waits.
    if isHeld, model.open.values.count(where: { $0.session == session }) > 2 { return nil }
    let (kind, style) = (pick(ProgramRequest.Kind.allCases), pick(ProgramRequest.Style.allCases))
    let cancel: ProgramRequest.Cancel =
      !isHeld && chance(1, in: 4) ? pick([.beforeResume, .atOnce, .atOnce]) : .never
    let target: ProgramRequest.Target =
      isHeld ? .held(halfway: chance(1, in: 2)) : cancel != .never ? .origin(.hanging) : target()
    let request = ProgramRequest(
      name: name("r"), session: session, kind: kind, style: style, target: target, cancel: cancel,
      method: kind.sendsBody ? "POST" : chance(1, in: 10) ? "HEAD" : "GET")
    let hasDelegate = model.sessions[session]?.hasDelegate == true
    return request.isSafe && (style != .delegate || hasDelegate) ? request : nil
  }

  private mutating func target() -> ProgramRequest.Target {
    switch Int.random(in: 0..<12, using: &random) {
    case 0..<4: .schemeless
    case 4: any(of: model.taps.filter(\.value.isServing).keys).map { .endpoint(of: $0) } ?? .schemeless
    case 5..<8: .origin(.sized)
    default: .origin(pick(RandomRequest.Answer.allCases))
    }
  }

  private mutating func name(_ kind: String) -> ProgramName {
    counts[kind, default: 0] += 1
    return "\(kind)\(counts[kind] ?? 0)"
  }

  mutating func chance(_ part: Int, in all: Int) -> Bool { Int.random(in: 0..<all, using: &random) < part }

  private mutating func pick<T>(_ all: [T]) -> T { all[Int.random(in: all.indices, using: &random)] }

  private mutating func client() -> String { pick(Self.clients) }

  private mutating func tap() -> ProgramName? { any(of: model.taps.keys) }

  private mutating func any(of names: some Collection<ProgramName>) -> ProgramName? {
    // In an order that does not change from run to run.
    names.sorted().randomElement(using: &random)
  }
}

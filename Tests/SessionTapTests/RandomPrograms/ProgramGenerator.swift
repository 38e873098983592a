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
    // A step that makes no sense now is not taken; most do.
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
    guard model.allows(step) else { return }
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
    case 24..<26: any(of: model.open.keys).map { chance(1, in: 2) ? .finish($0) : .cancel($0) }
    case 26..<28: tap().map { .start($0) }
    case 28: tap().map { .shutdown($0) }
    case 29: tap().map { .scrape($0) }
    default: block()
    }
  }

  private mutating func block() -> RandomProgram.Step? {
    var steps: [RandomProgram.Step] = []
    for _ in 0..<Int.random(in: 2...6, using: &random) { steps += partsOfBlock() }
    return .together(steps)
  }

  /// What may happen beside other steps.
  private mutating func partsOfBlock() -> [RandomProgram.Step] {
    let part: RandomProgram.Step? =
      switch Int.random(in: 0..<14, using: &random) {
      case 0..<8: request(isHeld: false).map { .request($0) }
      case 8..<10: request(isHeld: true).map { .begin($0) }
      case 10: patch()
      case 11: tap().map { .scrape($0) }
      default: tap().map { .shutdown($0) }
      }
    guard let part, model.allows(part) else { return [] }
    if let tap = part.stoppedTap, model.allows(.start(tap)), chance(1, in: 3) { return [.start(tap), part] }
    return [part]
  }

  private mutating func patch() -> RandomProgram.Step? {
    guard let tap = tap() else { return nil }
    return .patch(name("k"), by: tap, from: source(), client: client())
  }

  private mutating func session() -> RandomProgram.Step? {
    let making: RandomProgram.SessionMaking = chance(1, in: 12) ? .shared : .stock(source())
    return .session(name("s"), making, hasDelegate: chance(1, in: 2))
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
    let (kind, style) = (pick(ProgramRequest.Kind.allCases), pick(ProgramRequest.Style.allCases))
    let cancel: ProgramRequest.Cancel =
      !isHeld && chance(1, in: 4) ? pick([.beforeResume, .atOnce, .atOnce]) : .never
    let target: ProgramRequest.Target =
      isHeld ? .held(halfway: chance(1, in: 2)) : cancel != .never ? .origin(.hanging) : target()
    return ProgramRequest(
      name: name("r"), session: session, kind: kind, style: style, target: target, cancel: cancel,
      method: kind.sendsBody ? "POST" : chance(1, in: 10) ? "HEAD" : "GET")
  }

  private mutating func target() -> ProgramRequest.Target {
    switch Int.random(in: 0..<12, using: &random) {
    case 0..<4: .schemeless
    case 4: tap().map { .endpoint(of: $0) } ?? .schemeless
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

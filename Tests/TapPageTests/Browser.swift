import TestSupport

extension Trait where Self == ConditionTrait {
  /// The page in Chromium takes a minute of both processors: only where long tests do all they can, as in CI.
  static var inBrowser: Self {
    .enabled(
      if: Extent.isExtensive && Tool.isUsable("chromium"), "TESTS_EXTENSIVE is not 1, or chromium is missing")
  }
}

/// A page in a headless Chromium, driven by the DevTools protocol.
final class Browser: Sendable {
  private let chromium: Chromium
  private let context: String
  private let session: String

  /// Opens an empty page in a window of its own, with a profile that it shares with no other one.
  private init(_ chromium: Chromium) async throws {
    self.chromium = chromium
    context = try await chromium.call("Target.createBrowserContext").text("browserContextId")
    let target = try await chromium.call(
      "Target.createTarget", ["url": "about:blank", "browserContextId": context, "newWindow": true]
    ).text("targetId")
    session = try await chromium.call("Target.attachToTarget", ["targetId": target, "flatten": true])
      .text("sessionId")
    for domain in ["Page", "Runtime", "Log", "Accessibility"] { try await command("\(domain).enable") }
    // As if its reader looked at this page, and not at one of the tests beside it.
    try await command("Emulation.setFocusEmulationEnabled", ["enabled": true])
  }

  /// A page for as long as the test needs it.
  static func use(_ body: (Browser) async throws -> Void) async throws {
    let chromium = try await SharedChromium.shared.enter()
    do {
      let browser = try await Browser(chromium)
      try await body(browser)
      try await chromium.call("Target.disposeBrowserContext", ["browserContextId": browser.context])
    } catch {
      try? await SharedChromium.shared.leave()
      throw error
    }
    try await SharedChromium.shared.leave()
  }

  /// Opens an address, and waits until the page says that it has drawn a scrape.
  func open(_ address: String) async throws {
    try await command("Page.navigate", ["url": address])
    try await wait("document.getElementById('status')?.textContent.startsWith('Live')")
  }

  func wait(_ script: String) async throws {
    try await Poll.until(script) {
      // A page that loads itself again answers when it is there.
      do { return try await holds(script) } catch  where "\(error)".contains("navigated or closed") {
        return false
      }
    }
  }

  @discardableResult
  func evaluate(_ script: String) async throws -> String {
    let evaluation = try await command(
      "Runtime.evaluate", ["expression": "String(\(script))", "returnByValue": true])
    guard let value = (evaluation["result"] as? JSONMembers)?["value"] as? String else {
      throw TestFailure("cannot tell: \(script)")
    }
    return value.replacing("\u{A0}", with: " ")
  }

  /// Compares what scripts come to.
  func expect(
    _ rows: KeyValuePairs<String, String>, location: SourceLocation = #_sourceLocation
  ) async throws {
    for (script, expected) in rows {
      try await expectEqual(evaluate(script), expected, "\(script)", sourceLocation: location)
    }
  }

  func holds(_ script: String) async throws -> Bool { try await evaluate("!!(\(script))") == "true" }

  func text(_ id: String) async throws -> String { try await evaluate("$('\(id)').innerText") }

  func texts(_ ids: String...) async throws -> [String] {
    try await evaluate("\(ids).map(id => $(id).innerText).join('\\n')")
      .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }

  /// The text of each row of a table, its cells between bars, with plain spaces.
  func rows(_ id: String) async throws -> [String] {
    let rows = "[...$('\(id)').rows].map(row => [...row.cells].map(cell => cell.textContent).join('|'))"
    return try await evaluate("\(rows).join('\\n')").split(separator: "\n").map(String.init)
  }

  /// Waits until something is drawn in each chart.
  func waitForDrawing(_ ids: String...) async throws {
    for id in ids { try await wait("$('\(id)').toDataURL() !== $('\(id)').cloneNode().toDataURL()") }
  }

  func click(_ selector: String) async throws {
    try await evaluate("document.querySelector('\(selector)').click()")
  }

  /// Where a point of the first element is that a selector of CSS finds: `x` and `y` are from 0 to 1. It has
  /// to be in view and not covered.
  private func place(of selector: String, x: Double = 0.5, y: Double = 0.5) async throws -> [Double] {
    let place = try await evaluate(
      """
      (node => {
        const { left, top, width, height } = node.getBoundingClientRect(), x = left + \(x) * width, y = top + \(y) * height;
        return node.contains(document.elementFromPoint(x, y)) ? [x, y] : "";
      })(document.querySelector('\(selector)'))
      """
    ).split(separator: ",").compactMap { Double($0) }
    guard place.count == 2 else { throw TestFailure("not in view: \(selector)") }
    return place
  }

  private func mouse(_ types: [String], at place: [Double]) async throws {
    for type in types {
      try await command(
        "Input.dispatchMouseEvent",
        ["type": type, "x": place[0], "y": place[1], "button": "left", "clickCount": 1])
    }
  }

  private func scroll(to selector: String) async throws {
    try await evaluate("document.querySelector('\(selector)').scrollIntoView({ block: 'center' })")
  }

  /// Clicks as a person does: with the mouse.
  func point(at selector: String) async throws {
    try await mouse(["mouseMoved", "mousePressed", "mouseReleased"], at: place(of: selector))
  }

  func hover(over selector: String, x: Double, y: Double) async throws {
    try await scroll(to: selector)
    try await mouse(["mouseMoved"], at: place(of: selector, x: x, y: y))
  }

  /// Points at something that opens a request or a trace.
  ///
  /// - Parameter scrolls: Whether it may be out of view.
  func openDrawer(at selector: String, scrolls: Bool = false) async throws {
    if scrolls { try await scroll(to: selector) }
    try await point(at: selector)
    try await wait("!$('drawer').hidden")
  }

  /// A person sees each of the texts.
  func expectSeen(
    _ texts: String..., within height: Int? = nil, location: SourceLocation = #_sourceLocation
  ) async throws {
    let seen = try await seen(within: height)
    expectEqual(texts.filter { !seen.contains($0) }, [], "\(seen)", sourceLocation: location)
  }

  /// The texts that a person sees: in the window, or in its upper part, and not covered. With plain spaces.
  func seen(within height: Int? = nil) async throws -> String {
    try await evaluate(
      """
      (() => {
        const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), range = document.createRange(), seen = [];
        for (let node; node = walker.nextNode();) {
          range.selectNodeContents(node);
          const [box] = range.getClientRects(), parent = node.parentElement;
          if (!node.data.trim() || !box || box.top < 0 || box.bottom > \(height.map(String.init) ?? "innerHeight")) continue;
          const top = document.elementFromPoint(box.left + Math.min(box.width, parent.clientWidth || box.width) / 2, box.top + box.height / 2);
          if (parent.contains(top)) seen.push(node.data.trim());
        }
        return seen.join("|");
      })()
      """)
  }

  /// Chooses in a control of the page as its reader does.
  func choose(_ id: String, _ value: String) async throws {
    try await evaluate(
      "(a => (a.value = '\(value)', a.dispatchEvent(new Event('input', { bubbles: true }))))($('\(id)'))")
  }

  func reload() async throws {
    try await evaluate("document.getElementById('status').textContent = 'before'")
    try await command("Page.reload")
    try await wait("document.getElementById('status')?.textContent.startsWith('Live')")
  }

  /// Sets the window and the scheme of colours.
  func show(width: Int, height: Int = 900, scheme: String = "light") async throws {
    try await command(
      "Emulation.setDeviceMetricsOverride",
      ["width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600])
    try await command(
      "Emulation.setEmulatedMedia", ["features": [["name": "prefers-color-scheme", "value": scheme]]])
  }

  func setTimeZone(_ zone: String) async throws {
    try await command("Emulation.setTimezoneOverride", ["timezoneId": zone])
  }

  /// Whether the page reaches nothing, as if the app were gone.
  func set(isOffline: Bool) async throws {
    try await command("Network.enable")
    try await command(
      "Network.emulateNetworkConditions",
      ["offline": isOffline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1])
  }

  func press(_ key: String, code: Int, text: String? = nil) async throws {
    var event: [String: any Sendable] = ["key": key, "code": key, "windowsVirtualKeyCode": code]
    if let text { event["text"] = text }
    for type in ["keyDown", "keyUp"] {
      event["type"] = type
      try await command("Input.dispatchKeyEvent", event)
    }
  }

  /// The nodes of the tree that assistive technology sees.
  func accessibleNodes() async throws -> [(role: String, name: String)] {
    let nodes = try await command("Accessibility.getFullAXTree")["nodes"] as? [JSONMembers] ?? []
    return nodes.filter { $0["ignored"] as? Bool == false }.map { node in
      func value(_ key: String) -> String { (node[key] as? JSONMembers)?["value"] as? String ?? "" }
      return (value("role"), value("name"))
    }
  }

  /// A picture of the whole page, with what is out of sight, or of the window.
  func picture(isWhole: Bool) async throws -> Data {
    if isWhole {
      try await evaluate(
        "document.styleSheets[0].insertRule('section { content-visibility: visible !important }')")
    }
    let picture = try await command("Page.captureScreenshot", ["captureBeyondViewport": isWhole])
    return try #require(Data(base64Encoded: picture.text("data")))
  }

  /// What went wrong in the page so far: exceptions, blocked resources, messages of the console.
  var complaints: [String] {
    chromium.events(of: session).filter { event in
      ["\"Runtime.exceptionThrown\"", "\"Runtime.consoleAPICalled\"", "\"Log.entryAdded\""]
        .contains { event.contains($0) }
    }
  }

  @discardableResult
  private func command(
    _ method: String, _ parameters: [String: any Sendable] = [:]
  ) async throws -> JSONMembers {
    try await chromium.call(method, parameters, session: session)
  }
}

extension JSONMembers {
  fileprivate func text(_ key: String) throws -> String { try #require(self[key] as? String) }
}

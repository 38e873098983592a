import TestSupport

@testable import TapCore

@Suite struct LearnedPathTests {
  private static func template(_ path: String) -> String? {
    var path = path
    return path.withUTF8 { LearnedPath.template(of: $0) }
  }

  /// Paths, and their templates where those differ.
  private static let table = #"""
    /
    /users > /users
    //a//1/ > //a//{id}/
    /users/42 > /users/{id}
    /users/me
    /users/octocat
    /users/-1/52.52,13.405 > /users/{id}/{id}
    /orders/123e4567-e89b-12d3-a456-426614174000 > /orders/{id}
    /orders/ABCDEFAB-CDEF-ABCD-EFAB-CDEFABCDEFAB/123E4567-E89B > /orders/{id}/{id}
    /orders/01ARZ3NDEKTSV4RRFFQ69G5FAV > /orders/{id}
    /commits/4ca1850c/deadbeef/DEADBEE5/0xdeadbeef1 > /commits/{id}/deadbeef/{id}/{id}
    /days/2026-11-21/2026-11/20261121/2026-11-21T09:30:00Z > /days/{id}/{id}/{id}/{id}
    /hosts/203.0.113.8/2001:db8::1/2001%3Adb8%3A%3A1/00:1b:44:11:3a:b7 > /hosts/{id}/{id}/{id}/{id}
    /mail/ann@example.com/ann%40example.com/@angular > /mail/{id}/{id}/@angular
    /customers/cus_NffrFeUfNV2Hib/charges/ch_3MmlLrLkdIwHu7ix0snN0B15 > /customers/{id}/charges/{id}
    /albums/4aawyAB9vmqN3uQ7FjRGTy/videos/dQw4w9WgXcQ > /albums/{id}/videos/{id}
    /pods/coredns-5d78c9869d-abcde/lines/INV-0012345 > /pods/{id}/lines/{id}
    /Accounts/AC5ef8732a3c49700934481addd5ce1659.json > /Accounts/{id}.json
    /operations/7:cancel > /operations/{id}:cancel
    /files/report-2024.pdf
    /files/annual-report-2024.final.pdf
    /2010-04-01/Accounts > /2010-04-01/Accounts
    /2010-04-01 > /{id}
    /2.0/repos/7 > /2.0/repos/{id}
    /2/tweets/20 > /2/tweets/{id}
    /rest/api/3/issue/10002 > /rest/api/3/issue/{id}
    /packages/left-pad/1.3.0/1.3
    /v1beta1/k8s/oauth2/sha256/x509/base64/iso27001/utf8/h264/log4j/mp3/ipv4
    /apis/authentication.k8s.io/v1/tokenreviews
    /getUserById/listOauth2Applications/OutgoingCallerIds/IpAccessControlListMappings/XMLHttpRequest
    /healthchecks/AvailablePhoneNumbers/metadata_cascade_policies/well-known/covid-19/top-10
    /search/red%20shoes/M%C3%BCnchen/a+b/~tilde/(x)
    /%/%4/%zz/a%00b/\#u{7F}/ü
    """#

  @Test func `ids become a parameter by their form, and words stay`() {
    let rows = Self.table.split(separator: "\n").map { row in
      let sides = row.split(separator: " > ").map { $0.trimmingCharacters(in: .whitespaces) }
      return (path: sides[0], template: sides.last ?? "")
    }
    let found = rows.map { "\($0.path) > \(Self.template($0.path) ?? "-")" }
    expectEqual(found, rows.map { "\($0.path) > \($0.template)" })
    expectEqual(Self.template(""), "/")
    // What is a template already has the same one.
    let again = rows.map { Self.template($0.template) }
    let differing = zip(rows, again).filter { $0.0.template != $0.1 && !$0.0.template.hasPrefix("/2") }
    expectEqual(differing.map(\.0.template), [])
  }

  /// Paths of public APIs, whose ids are made up: `#8` are digits, `x40` is hexadecimal, `@14` are letters
  /// and digits, `^8` capitals and digits, `u` is a UUID, each behind the mark of the API.
  private static let made = #"""
    /repos/acme/shop/pulls/{#3}/files /repos/acme/shop/git/commits/{x40} /gists/{x32}/comments/{#9}
    /v1/customers/{cus_@14}/sources/{card_@24} /v1/payment_intents/{pi_@24}/confirm /v1/accounts/{acct_@16}
    /2010-04-01/Accounts/{ACx32}/Messages/{SMx32}.json /2010-04-01/Accounts/{ACx32}/Calls.json
    /v2/droplets/{#9}/actions/{#8} /v2/apps/{u}/deployments/{u}/logs /v2/floating_ips/203.0.113.{#2}
    /channels/{#18}/messages/{#19}/reactions /guilds/{#18}/members/{#18}/roles/{#18}
    /v1.51/containers/{x64}/json /v1.51/exec/{x64}/start /v1.51/images/sha256:{x64}/json
    /api/1.0/tasks/{#16}/stories /api/1.0/workspaces/{#16}/projects
    /v1/threads/{thread_@24}/runs/{run_@24}/steps/{step_@24} /v1/batches/{batch_x32}/cancel
    /v1/albums/{@22}/tracks /v1/playlists/{@22}/images /v1/audio-features/{@22}
    /2.0/folders/{#12}/items /2.0/files/{#13}/content /2.0/metadata_cascade_policies/{u}
    /rest/api/3/issue/{#5}/comment/{#5} /teams/{T^10}/channels/{C^10} /2/tweets/{#19}/liking_users
    """#

  private static func made(_ path: String, by generator: inout SeededGenerator) -> (
    path: String, template: String
  ) {
    let alphabets: [Character: String] = [
      "#": "0123456789", "x": "0123456789abcdef", "^": "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
      "@": "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
    ]
    func random(_ kind: Character, _ count: Int) -> String {
      String((0..<count).compactMap { _ in alphabets[kind]?.randomElement(using: &generator) })
    }
    var (made, template) = ("", "")
    for part in path.split(separator: "{", omittingEmptySubsequences: false) {
      let sides = part.split(separator: "}", omittingEmptySubsequences: false)
      guard sides.count == 2 else {
        made += part
        template += part
        continue
      }
      if sides[0] == "u" {
        made += [8, 4, 4, 4, 12].map { random("x", $0) }.joined(separator: "-")
      } else if let mark = sides[0].lastIndex(where: { alphabets[$0] != nil }) {
        made += sides[0][..<mark] + random(sides[0][mark], Int(sides[0][mark...].dropFirst()) ?? 0)
      }
      // What stands before an id in its segment belongs to it.
      template = template[...(template.lastIndex(of: "/") ?? template.startIndex)] + "{id}"
      made += sides[1]
      template += sides[1]
    }
    return (made, template)
  }

  @Test func `of made-up ids in the paths of public APIs, 95 in 100 paths have the right template`() {
    var generator = SeededGenerator(seed: 7)
    var (wrong, count) = ([String](), 0)
    for _ in 0..<50 {
      for path in Self.made.split(whereSeparator: \.isWhitespace) {
        let made = Self.made(String(path), by: &generator)
        count += 1
        if Self.template(made.path) != made.template { wrong.append(made.path) }
      }
    }
    #expect(count > 1_000 && 20 * wrong.count <= count, "\(wrong.count) of \(count): \(wrong.prefix(10))")
  }

  @Test func `whatever the path, its template has a bound`() {
    var generator = SeededGenerator(seed: 3)
    let bytes = Array("/%.:-@aZ0f{}é\0".utf8)
    let long = [255, 256, 1_024, 1_025, 100_000].map { "/" + String(repeating: "a", count: $0 - 1) }
    expectEqual(long.map { Self.template($0)?.utf8.count }, [255, 256, nil, nil, nil])
    expectEqual(Self.template("/" + String(repeating: "7", count: 1_000)), "/{id}")
    for _ in 0..<2_000 {
      let path = (0..<Int.random(in: 0..<40, using: &generator)).compactMap { _ in
        bytes.randomElement(using: &generator)
      }
      let template = path.withUnsafeBufferPointer { LearnedPath.template(of: $0) }
      // Each segment stays, or has become a parameter.
      let (segments, found) = (
        path.split(separator: .slash, omittingEmptySubsequences: false).count,
        template.map { $0.utf8.split(separator: .slash, omittingEmptySubsequences: false).count }
      )
      if path.isEmpty { continue }
      expectEqual(found, segments, "\(path)")
    }
  }

  @Test func `a server has 50 templates, and 256 servers have some`() throws {
    var learned = LearnedPaths()
    func find(_ path: String, _ host: String = "api") throws -> String {
      let url = "http://\(host):80/\(path)?a=1"
      return learned.template(forURL: url, of: try #require(URLAuthority(url)))
    }
    let words = try (0..<60).map { try find("users/\(String(repeating: "a", count: $0 + 1))/\($0)") }
    #expect(Set(words).count == 51 && words.suffix(10).allSatisfy { $0 == "_OTHER" })
    #expect(try find("users/a/9") == "/users/a/{id}" && find("new") == "_OTHER")
    let hosts = try (1...300).map { try find("new", "h\($0)") }
    #expect(hosts.count { $0 == "/new" } == 255 && hosts.last == "_OTHER")
    #expect(try find(String(repeating: "a", count: 2_000), "h1") == "_OTHER")
    // Of a long host it keeps what a label shows.
    learned = LearnedPaths()
    let long = try (0..<300).map { try find("new", String(repeating: "h", count: 256) + "\($0)") }
    #expect(Set(long) == ["/new"])
  }

  @Test func `the app's templates go first, and without the setting there is none`() throws {
    func templates(learns: Bool, _ templates: PathTemplates = []) throws -> [String?] {
      let observer = RecordingObserver()
      var configuration = RequestConfiguration()
      configuration.pathTemplates = templates
      let recorder = try RequestRecorder(
        registry: Registry(), outbound: configuration, consumers: [observer],
        learnsPaths: learns)
      for url in ["https://a/users/7?x=1", "https://a/orders/7", "nonsense/7"] {
        recorder.outbound.begin(client: "c", method: "GET", url: url).end(statusCode: 200)
      }
      recorder.outbound.begin(client: "c", method: "GET", url: "https://a/u/7", urlTemplate: "/own").cancel()
      recorder.inbound.begin(method: "GET", path: "/users/7").end(statusCode: 200)
      recorder.drain()
      return observer.ended.map(\.request.urlTemplate)
    }
    #expect(try templates(learns: false) == [nil, nil, nil, "/own", nil])
    #expect(try templates(learns: true) == ["/users/{id}", "/orders/{id}", nil, "/own", nil])
    #expect(try templates(learns: true, ["/users/{user}"])[..<2] == ["/users/{user}", "/orders/{id}"])
  }
}

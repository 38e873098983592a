import TestSupport

@Suite struct PathTemplatesTests {
  static let templates: PathTemplates = [
    "/", "/users", "/users/{id}", "/users/me", "/users/{id}/posts", "/users/{id}/posts/{post}", "/files/*",
    "/files/public", "/a/{x}/c", "/a/b/{y}", "/a/b/*", "no-slash/{x}", "/trailing/",
  ]

  @Test func `the template that is literal from the left wins`() {
    let rows: [(path: String, template: String?)] = [
      ("/", "/"), ("", "/"), ("/users", "/users"), ("/users/", nil), ("/users/42", "/users/{id}"),
      ("/users/me", "/users/me"), ("/users/42/posts", "/users/{id}/posts"),
      ("/users/me/posts", "/users/{id}/posts"), ("/users/42/posts/7", "/users/{id}/posts/{post}"),
      ("/users/42/posts/7/x", nil), ("/users//posts", nil), ("/Users", nil), ("/users/%34%32", "/users/{id}"),
      ("/files", nil), ("/files/x", "/files/*"), ("/files/x/y/z", "/files/*"),
      ("/files/public", "/files/public"), ("/files/public/x", "/files/*"), ("/a/b/c", "/a/b/{y}"),
      ("/a/z/c", "/a/{x}/c"), ("/a/b/d/e", "/a/b/*"), ("/a/z/d", nil), ("/no-slash/1", "no-slash/{x}"),
      ("no-slash/1", "no-slash/{x}"), ("/trailing/", "/trailing/"), ("/trailing", nil), ("/nowhere", nil),
      ("//", nil), ("/ü", nil), ("/users/\u{0}", "/users/{id}"),
      // An empty segment is one for a star, and none for a parameter.
      ("/files/", "/files/*"), ("/files/public/", "/files/*"),
    ]
    #expect(rows.map { Self.templates.template(forURL: $0.path) } == rows.map(\.template))
    // The path is taken out of a URL.
    let urls: [(url: String, template: String?)] = [
      ("http://host/users/42?x=/users/me#f", "/users/{id}"), ("http://host", "/"), ("http://host?q", "/"),
      ("https://u:p@host:8443/users", "/users"), ("http://host/users#/42", "/users"), ("nonsense", nil),
      ("", "/"), (":", nil), ("a:/", nil), ("http://[::1]:80/users/1", "/users/{id}"),
      ("http://host:99999/users/1", "/users/{id}"),
    ]
    #expect(urls.map { Self.templates.template(forURL: $0.url) } == urls.map(\.template))
  }

  @Test func `what fits nothing, and of two that fit the same paths the first`() {
    let rows: [(PathTemplates, path: String, found: String?)] = [
      ([], "/", nil),
      // The root has no segment that a star could stand for, and one brace makes no parameter.
      (["/*"], "/", nil), (["/u/{id", "/u/id}"], "/u/1", nil), (["/u/{a}", "/u/{b}"], "/u/1", "/u/{a}"),
      (["/u/{a}/*", "/u/{b}/*"], "/u/1/x", "/u/{a}/*"),
    ]
    #expect(rows.map { $0.0.template(forURL: $0.path) } == rows.map(\.found))
    #expect([PathTemplates(), ["/*"], ["/"]].map(\.isEmpty) == [true, false, false])
  }

  @Test(arguments: [
    "/users/:id", "/users/:id/posts/:post", "users/{id}", "/users/{id", "/users/id}", "/users/{id}}",
    "/users/{{id}}", "/users/{}", "/users/:", "/users/{id}.json", "/users/user-{id}", "/users/<id>",
    "/users/<int:id>/posts", "/files/**", "/files/*.js", "/files/{*path}", "/files/*/x", "/users?page={page}",
    "/users#{id}", "https://api.example.com/users/{id}", "", "*", "?", " /users/{id}", "/users/{id}\t",
    "/my files/{id}", "/users/{user id}", "/u/{id}/posts/{id}", "/a\u{7F}b", "a:/", "/health*", "/health*/",
    "/files/a*b",
  ])
  func `another spelling is refused`(template: String) throws {
    let error = #expect(throws: PathTemplateError.self) {
      try PathTemplates(["/", template, "/<name>"]).validate()
    }
    #expect(error?.template == template)
  }

  @Test(arguments: [
    "/", "//", "/users", "/users/", "/users/{id}", "/users/{id:int}", "/*", "/files/*", "/v1/users:batchGet",
    "/a;b=c", "/%7Bid%7D", "/ü", "/@me", "/{a}/{b}/*", "/users/{id}/files/*",
  ])
  func `the right spelling is accepted`(template: String) throws { try PathTemplates([template]).validate() }

  @Test func `the text of a refusal has a bound`() {
    let template = ":" + String(repeating: "x", count: 1 << 20)
    let error = #expect(throws: PathTemplateError.self) { try PathTemplates([template]).validate() }
    #expect(error?.template == String(template.prefix(256)))
  }

  @Test func `a path of 510 segments is found, and none beyond it`() {
    let (most, more) = (String(repeating: "/x", count: 510), String(repeating: "/x", count: 511))
    let templates = PathTemplates([most, more])
    #expect(templates.template(forURL: most) == most)
    #expect(templates.template(forURL: more) == nil)
  }

  @Test func `a set made to be slow is given up on`() {
    // Each segment fits a literal and a parameter, in 1,024 ways, of which the last leads to the end.
    var templates = [""]
    for _ in 0..<10 { templates = templates.flatMap { [$0 + "/x", $0 + "/{y}"] } }
    let last = String(repeating: "/{y}", count: 10) + "/last"
    let matcher = PathTemplates(templates.map { $0 + "/end" } + [last])
    let path = String(repeating: "/x", count: 10)
    #expect(matcher.template(forURL: path + "/end") == path + "/end")
    #expect(matcher.template(forURL: path + "/last") == nil)
    #expect(matcher.template(forURL: String(repeating: "/y", count: 10) + "/last") == last)
    #expect(matcher.template(forURL: String(repeating: "/x", count: 100_000)) == nil)
  }
}

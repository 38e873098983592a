import Testing

@Suite struct DashboardFolderTests {
  @Test func `reads the fields of rules, behind their keys and below them`() {
    let rules = """
      groups:
        - name: a
          rules:
            # A comment: none.
            - record: a:b
              expr: sum(b)
            - alert: C
              expr: |
                a
                  or

                b
              for: 5m
      """
    let fields = DashboardFolder.fields(ofRules: rules)
    #expect(fields.filter { $0.key == "record" }.map(\.value) == ["a:b"])
    #expect(fields.filter { $0.key == "expr" }.map(\.value) == ["sum(b)", "\na\nor\n\nb"])
    #expect(fields.filter { $0.key == "for" }.map(\.value) == ["5m"])
  }

  @Test func `reads the panels and variables of a board`() throws {
    let board = """
      {"panels": [{"type": "row"}, {"targets": [{"expr": "a"}, {"expr": "b"}]},
                  {"type": "row", "panels": [{"targets": [{"expr": "c"}]}]}],
       "templating": {"list": [{"type": "datasource", "query": "prometheus"},
                               {"type": "query", "query": "label_values(a{b=\\"1\\", c=\\"2\\"}, d)"}]}}
      """
    #expect(
      try DashboardFolder.queries(ofBoard: board) == [#"count by (d) (a{b="1", c="2"})"#, "a", "b", "c"])
  }

  @Test func `reads the queries of a console`() {
    #expect(
      DashboardFolder.queries(ofConsole: #"<p data-query="a{b=&quot;1&quot;} &lt; 2" data-unit="s">"#)
        == [#"a{b="1"} < 2"#])
  }

  @Test func `finds boards, rules and consoles`() throws {
    let folder = try DashboardFolder()
    #expect(folder.boards.count > 50)
    #expect(folder.rules.count > 20)
    #expect(folder.consoles.count > 5)
    #expect(!folder.recorded.isEmpty)
  }
}

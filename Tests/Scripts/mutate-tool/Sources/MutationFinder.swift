import Foundation
import SwiftSyntax

/// Finds every change in a file. Whether it compiles is for the compiler to say.
final class MutationFinder: SyntaxVisitor {
  private(set) var mutations: [Mutation] = []
  private let path: String
  private let locations: SourceLocationConverter

  init(path: String, tree: Syntax) {
    self.path = path
    locations = SourceLocationConverter(fileName: path, tree: tree)
    super.init(viewMode: .sourceAccurate)
  }

  // MARK: - What is left as it is

  override func visit(_ node: AttributeSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
  override func visit(_ node: GenericArgumentClauseSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
  override func visit(_ node: MacroExpansionExprSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
  /// A raw value has to be a literal.
  override func visit(_ node: EnumCaseElementSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
  /// Code that is compiled into other modules cannot see `mutant`.
  override func visit(_ node: FunctionDeclSyntax) -> SyntaxVisitorContinueKind { descend(node.attributes) }
  override func visit(_ node: VariableDeclSyntax) -> SyntaxVisitorContinueKind { descend(node.attributes) }
  override func visit(_ node: InitializerDeclSyntax) -> SyntaxVisitorContinueKind { descend(node.attributes) }
  override func visit(_ node: SubscriptDeclSyntax) -> SyntaxVisitorContinueKind { descend(node.attributes) }
  /// Only the clause that is compiled on this system, and not its condition.
  override func visit(_ node: IfConfigDeclSyntax) -> SyntaxVisitorContinueKind {
    let others = ["canImport(Darwin)", "canImport(Musl)", "!canImport(FoundationNetworking)"]
    let clause = node.clauses.first { !others.contains($0.condition?.trimmedDescription ?? "") }
    if let elements = clause?.elements { walk(elements) }
    return .skipChildren
  }

  private func descend(_ attributes: AttributeListSyntax) -> SyntaxVisitorContinueKind {
    let isInlinable = attributes.contains { $0.trimmedDescription.hasPrefix("@inlinable") }
    return isInlinable ? .skipChildren : .visitChildren
  }

  // MARK: - Conditions

  override func visit(_ node: ConditionElementSyntax) -> SyntaxVisitorContinueKind {
    if case .expression(let condition) = node.condition { negate(condition, kind: "condition negated") }
    return .visitChildren
  }

  override func visit(_ node: RepeatStmtSyntax) -> SyntaxVisitorContinueKind {
    negate(node.condition, kind: "condition negated")
    return .visitChildren
  }

  override func visit(_ node: WhereClauseSyntax) -> SyntaxVisitorContinueKind {
    negate(node.condition, kind: "condition negated")
    return .visitChildren
  }

  override func visit(_ node: TernaryExprSyntax) -> SyntaxVisitorContinueKind {
    negate(node.condition, kind: "condition negated")
    return .visitChildren
  }

  private func negate(_ condition: ExprSyntax, kind: String) {
    // `true` and `false` are changed as literals.
    guard !condition.is(BooleanLiteralExprSyntax.self) else { return }
    let text = condition.trimmedDescription
    add(kind, condition, from: text, to: "!(\(text))", opening: "((", closing: ") != mutant(#))")
  }

  // MARK: - Operators

  private static let borders = ["<": "<=", "<=": "<", ">": ">=", ">=": ">"]
  private static let equalities = ["==": "!=", "!=": "==", "===": "!==", "!==": "==="]
  private static let connectives = ["&&": "||", "||": "&&"]
  private static let sums = ["+": "-", "-": "+", "&+": "&-", "&-": "&+"]
  private static let assignments = ["+=": "-=", "-=": "+=", "&+=": "&-=", "&-=": "&+="]

  override func visit(_ node: InfixOperatorExprSyntax) -> SyntaxVisitorContinueKind {
    guard let symbol = node.operator.as(BinaryOperatorExprSyntax.self)?.operator.text else {
      return .visitChildren
    }
    let left = node.leftOperand
    let right = node.rightOperand
    if let other = Self.borders[symbol] {
      exchange(node, symbol, by: other, kind: "border moved")
    } else if let other = Self.equalities[symbol] {
      // As a condition or a result it is negated already.
      if !isCondition(node) { exchange(node, symbol, by: other, kind: "equality negated") }
    } else if let other = Self.connectives[symbol] {
      exchange(node, symbol, by: other, kind: "and/or exchanged")
    } else if let other = Self.sums[symbol] {
      // Texts and arrays have no difference.
      let isSum = ![left, right].contains {
        $0.is(StringLiteralExprSyntax.self) || $0.is(ArrayExprSyntax.self)
      }
      if isSum { exchange(node, symbol, by: other, kind: "plus/minus exchanged") }
    } else if let other = Self.assignments[symbol], node.parent?.is(CodeBlockItemSyntax.self) == true {
      let changed = "\(left.description)\(other)\(right.leadingTrivia) \(right.trimmedDescription)"
      add(
        "plus/minus exchanged", node, from: node.trimmedDescription, to: changed,
        opening: "if mutant(#) { \(changed) } else { ", closing: " }")
    } else if symbol == "??" {
      add(
        "default taken", node, from: node.trimmedDescription, to: right.trimmedDescription,
        opening: "(mutant(#) ? \(right.trimmedDescription) : ", closing: ")")
    }
    return .visitChildren
  }

  private func exchange(_ node: InfixOperatorExprSyntax, _ symbol: String, by other: String, kind: String) {
    var changed = node
    changed.operator = ExprSyntax(
      node.operator.cast(BinaryOperatorExprSyntax.self).with(\.operator.tokenKind, .binaryOperator(other)))
    let text = changed.trimmedDescription
    add(
      kind, node, from: node.trimmedDescription, to: text, opening: "(mutant(#) ? \(text) : ", closing: ")")
  }

  private func isCondition(_ node: InfixOperatorExprSyntax) -> Bool {
    guard let parent = node.parent else { return false }
    if let ternary = parent.as(TernaryExprSyntax.self) { return ternary.condition.id == ExprSyntax(node).id }
    return parent.is(ConditionElementSyntax.self) || parent.is(WhereClauseSyntax.self)
      || parent.is(RepeatStmtSyntax.self)
      || result(of: Syntax(node))?.trimmedDescription == "Bool"
  }

  override func visit(_ node: FunctionCallExprSyntax) -> SyntaxVisitorContinueKind {
    let name = node.calledExpression.trimmedDescription
    let others = ["min": "max", "max": "min"]
    if let other = others[name], node.arguments.count == 2 {
      let changed = other + node.trimmedDescription.dropFirst(name.count)
      add(
        "min/max exchanged", node, from: node.trimmedDescription, to: changed,
        opening: "(mutant(#) ? \(changed) : ", closing: ")")
    }
    return .visitChildren
  }

  // MARK: - Literals

  override func visit(_ node: BooleanLiteralExprSyntax) -> SyntaxVisitorContinueKind {
    let other = node.literal.text == "true" ? "false" : "true"
    add(
      "Bool flipped", node, from: node.literal.text, to: other, opening: "(mutant(#) ? \(other) : ",
      closing: ")")
    return .skipChildren
  }

  override func visit(_ node: IntegerLiteralExprSyntax) -> SyntaxVisitorContinueKind {
    let text = node.literal.text
    let digits = text.replacing("_", with: "")
    let radix = ["0x": 16, "0b": 2, "0o": 8][String(digits.prefix(2))] ?? 10
    guard let value = Int(radix == 10 ? digits[...] : digits.dropFirst(2), radix: radix) else {
      return .skipChildren
    }
    // Up or down by where it is; an unsigned number has no -1.
    let isUp = value == 0 || node.position.utf8Offset % 2 == 0
    let (changed, overflows) = value.addingReportingOverflow(isUp ? 1 : -1)
    guard !overflows else { return .skipChildren }
    add(
      "constant changed", node, from: text, to: String(changed), opening: "(mutant(#) ? \(changed) : ",
      closing: ")")
    return .skipChildren
  }

  override func visit(_ node: FloatLiteralExprSyntax) -> SyntaxVisitorContinueKind {
    let text = node.literal.text
    let changed = "\(text) + 1"
    add(
      "constant changed", node, from: text, to: changed, opening: "(mutant(#) ? \(changed) : ", closing: ")")
    return .skipChildren
  }

  // MARK: - Results

  override func visit(_ node: ReturnStmtSyntax) -> SyntaxVisitorContinueKind {
    if let expression = node.expression { change(result: expression) }
    return .visitChildren
  }

  private func change(result expression: ExprSyntax) {
    guard let type = result(of: Syntax(expression)) else { return }
    let isChosen = expression.is(IfExprSyntax.self) || expression.is(SwitchExprSyntax.self)
    guard !isChosen, !expression.is(NilLiteralExprSyntax.self) else { return }
    if type.trimmedDescription == "Bool" {
      negate(expression, kind: "result negated")
    } else if type.is(OptionalTypeSyntax.self) {
      var value = expression
      // `try` and `await` stand before the whole, not on the right side of an operator.
      while true {
        if let tried = value.as(TryExprSyntax.self) {
          value = tried.expression
        } else if let awaited = value.as(AwaitExprSyntax.self) {
          value = awaited.expression
        } else {
          break
        }
      }
      add(
        "nil returned", value, from: value.trimmedDescription, to: "nil", opening: "(mutant(#) ? nil : ",
        closing: ")")
    }
  }

  /// The declared type that a `return`, or the only expression of a body, gives its value to.
  private func result(of node: Syntax) -> TypeSyntax? {
    let isReturned = node.parent?.is(ReturnStmtSyntax.self) == true
    let isItem = node.parent?.is(CodeBlockItemSyntax.self) == true
    guard isReturned || isItem else { return nil }
    var ancestor = node.parent
    while let current = ancestor {
      if current.is(ClosureExprSyntax.self) || current.is(InitializerDeclSyntax.self) { return nil }
      if let function = current.as(FunctionDeclSyntax.self) { return function.signature.returnClause?.type }
      if let accessor = current.as(AccessorDeclSyntax.self), accessor.accessorSpecifier.text != "get" {
        return nil
      }
      if let binding = current.as(PatternBindingSyntax.self) { return binding.typeAnnotation?.type }
      if let subscription = current.as(SubscriptDeclSyntax.self) { return subscription.returnClause.type }
      // An item of a block with others is a statement, not a value.
      if isItem, let items = current.as(CodeBlockItemListSyntax.self), items.count > 1 { return nil }
      ancestor = current.parent
    }
    return nil
  }

  // MARK: - Statements

  override func visit(_ node: CodeBlockItemSyntax) -> SyntaxVisitorContinueKind {
    switch node.item {
    case .expr(let expression):
      if result(of: Syntax(expression)) != nil {
        change(result: expression)
      } else if isCall(expression) || (isAssignment(expression) && !isInInitializer(node)) {
        remove(expression)
      }
    case .stmt(let statement):
      if isEarlyExit(statement) { remove(statement) }
    case .decl: break
    }
    return .visitChildren
  }

  private func remove(_ node: some SyntaxProtocol) {
    add(
      "statement removed", node, from: node.trimmedDescription, to: "", opening: "if !mutant(#) { ",
      closing: " }")
  }

  private func isCall(_ expression: ExprSyntax) -> Bool {
    if let tried = expression.as(TryExprSyntax.self) { return isCall(tried.expression) }
    if let awaited = expression.as(AwaitExprSyntax.self) { return isCall(awaited.expression) }
    if let chain = expression.as(OptionalChainingExprSyntax.self) { return isCall(chain.expression) }
    guard let call = expression.as(FunctionCallExprSyntax.self) else { return false }
    // What only says that a programmer erred, and what makes the instance.
    let others = ["assert", "assertionFailure", "precondition", "self.init", "super.init"]
    return !others.contains(call.calledExpression.trimmedDescription)
  }

  private func isAssignment(_ expression: ExprSyntax) -> Bool {
    guard let infix = expression.as(InfixOperatorExprSyntax.self) else { return false }
    if infix.operator.is(AssignmentExprSyntax.self) { return true }
    let symbol = infix.operator.trimmedDescription
    return symbol.hasSuffix("=") && Self.borders[symbol] == nil && Self.equalities[symbol] == nil
  }

  private func isInInitializer(_ node: CodeBlockItemSyntax) -> Bool {
    var ancestor = node.parent
    while let current = ancestor {
      if current.is(InitializerDeclSyntax.self) { return true }
      if current.is(FunctionDeclSyntax.self) || current.is(AccessorDeclSyntax.self) { return false }
      ancestor = current.parent
    }
    return false
  }

  private func isEarlyExit(_ statement: StmtSyntax) -> Bool {
    let isExit =
      statement.as(ReturnStmtSyntax.self)?.expression == nil && statement.is(ReturnStmtSyntax.self)
      || statement.is(ThrowStmtSyntax.self) || statement.is(ContinueStmtSyntax.self)
      || statement.is(BreakStmtSyntax.self)
    // The body of a guard has to leave; a case has to have a statement.
    let block = statement.parent?.parent?.parent
    return isExit && block?.parent?.is(GuardStmtSyntax.self) != true
      && block?.is(SwitchCaseSyntax.self) != true
  }

  // MARK: -

  private func add(
    _ kind: String, _ node: some SyntaxProtocol, from before: String, to after: String, opening: String,
    closing: String
  ) {
    let start = node.positionAfterSkippingLeadingTrivia
    mutations.append(
      Mutation(
        file: path, line: locations.location(for: start).line, kind: kind, before: before, after: after,
        start: start.utf8Offset, end: node.endPositionBeforeTrailingTrivia.utf8Offset, opening: opening,
        closing: closing))
  }
}

"""What ../check does: `markdown` finds code blocks, `swift` compiles those in Swift, `tools` has the other languages read
by their programs."""
